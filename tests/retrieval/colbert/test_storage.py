"""A wrong bit or a missing end in an index of ColBERT: a clear error, or an answer."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from retrieval import Retriever, UsageError

pytest.importorskip("colbert", reason="the extra `colbert` is not installed")

import torch
from support.colbert_sample import build
from support.damaged_indexes import QUERIES, attacked
from support.word_passages import PASSAGES

from retrieval.colbert import ColBERT, search
from retrieval.colbert.scoring import Scorer


@pytest.mark.parametrize("compiled", [True, False])
def test_a_damaged_index_is_said_or_answers(
    compiled: bool, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiled:
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr(search, "best_scorer", Scorer)
    loaded = build(PASSAGES, tmp_path / "whole", checkpoint)._checkpoint
    vectors = dict(zip(QUERIES, loaded.encode_queries(QUERIES), strict=True))

    class Encoded:
        """Queries that are encoded already."""

        dim = loaded.dim

        def __init__(self, *_: object, **__: object) -> None: ...

        def encode_queries(self, texts: Sequence[str]) -> list[torch.Tensor]:
            return [vectors[text] for text in texts]

    monkeypatch.setattr(search, "Checkpoint", Encoded)

    def open_index(path: Path) -> Retriever:
        return ColBERT(path, device="cpu", checkpoint=checkpoint)

    assert attacked(tmp_path / "whole", tmp_path / "index", open_index) > 60


def test_an_index_brings_no_code_with_the_checkpoint_that_it_names(checkpoint: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(checkpoint, model)
    build(PASSAGES[:3], tmp_path / "index", model)
    (model / "harm.py").write_text(f"open({str(tmp_path / 'harmed')!r}, 'w').close()\nclass HarmConfig: ...\n")
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoConfig": "harm.HarmConfig"}}))
    with pytest.raises(UsageError, match="brings code of its own"):
        ColBERT(tmp_path / "index", device="cpu")
    assert not (tmp_path / "harmed").exists()
    assert ColBERT(tmp_path / "index", device="cpu", checkpoint=checkpoint)("cat", 3)
