"""A wrong bit or a missing end in an index of ColBERT: a clear error, or an answer."""

import json
import pickle
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from support.colbert_sample import build
from support.damaged_indexes import QUERIES, attacked, mixed, with_other_files
from support.hostile_pickle import Hostile
from support.word_passages import PASSAGES

from retrieval import RetrievalError, Retriever, UsageError
from retrieval.colbert import ColBERT, search

pytestmark = pytest.mark.needs("colbert")


def test_a_damaged_index_is_said_or_answers(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = build(PASSAGES, tmp_path / "whole", checkpoint)._checkpoint
    build(PASSAGES[::-1], tmp_path / "other", checkpoint)
    vectors = dict(zip(QUERIES, loaded.encode_queries(QUERIES), strict=True))

    class Encoded:
        """Queries that are encoded already."""

        dim = loaded.dim

        def __init__(self, *_: object, **__: object) -> None: ...

        def encode_queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
            return [vectors[text] for text in texts]

    monkeypatch.setattr(search, "Checkpoint", Encoded)

    def open_index(path: Path) -> Retriever:
        return ColBERT(path, device="cpu", checkpoint=checkpoint)

    assert attacked(tmp_path / "whole", tmp_path / "index", open_index) > 60
    assert mixed(tmp_path / "whole", tmp_path / "other", tmp_path / "index", open_index) > 6
    assert with_other_files(tmp_path / "whole", tmp_path / "index", "colbert.json", open_index) > 60


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_an_index_brings_no_code_with_the_checkpoint_that_it_names(
    file: str, path: Path, checkpoint: Path, tmp_path: Path
) -> None:
    model, index = tmp_path / "model", tmp_path / "index"
    shutil.copytree(checkpoint, model)
    shutil.copytree(path, index)
    (index / "colbert.json").unlink()  # which would see that another file has changed
    described = json.loads((index / "metadata.json").read_text())
    described["config"]["checkpoint"] = str(model)
    (index / "metadata.json").write_text(json.dumps(described))
    (model / "harm.py").write_text(f"open({str(tmp_path / 'harmed')!r}, 'w').close()\nclass HarmConfig: ...\n")
    config = json.loads((model / file).read_text())
    (model / file).write_text(json.dumps(config | {"auto_map": {"AutoConfig": "harm.HarmConfig"}}))
    with pytest.raises(UsageError, match="brings code of its own"):
        ColBERT(tmp_path / "index", device="cpu")
    assert not (tmp_path / "harmed").exists()
    assert ColBERT(tmp_path / "index", device="cpu", checkpoint=checkpoint)("cat", 3)


@pytest.mark.parametrize(
    "name", ["centroids.pt", "avg_residual.pt", "buckets.pt", "ivf.pid.pt", "0.codes.pt", "0.residuals.pt"]
)
@pytest.mark.parametrize("form", ["torch", "plain"])
def test_nothing_in_an_index_is_unpickled(name: str, form: str, path: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    shutil.copytree(path, index)
    (index / "colbert.json").unlink(missing_ok=True)  # as in an index that colbert-ai made, which knows no sizes
    hostile = Hostile(tmp_path / "harm")
    if form == "torch":
        torch.save(hostile, index / name)
    else:
        (index / name).write_bytes(pickle.dumps(hostile))
    with pytest.raises(RetrievalError, match=r"is damaged: build or fetch it again \(.*\)$") as error:
        ColBERT(index, device="cpu")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "harm").exists()
