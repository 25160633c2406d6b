"""A wrong bit or a missing end in an index of ColBERT: a clear error, or an answer."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from retrieval import Retriever

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
