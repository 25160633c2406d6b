"""A wrong bit or a missing end in what lies around the shards of an index, or in one of them."""

from pathlib import Path

from support.damaged_indexes import attacked
from support.word_passages import PASSAGES

from retrieval import Retriever, load
from retrieval.bm25 import BM25
from retrieval.shards import split


def test_damaged_shards_are_said_or_answer(tmp_path: Path) -> None:
    BM25.build(PASSAGES, tmp_path / "whole")
    split(BM25(tmp_path / "whole"), tmp_path / "shards", 2)

    def open_index(path: Path) -> Retriever:
        return load(f"shards:{path}")

    assert attacked(tmp_path / "shards", tmp_path / "index", open_index, verified=False) > 100
