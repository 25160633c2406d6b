"""A wrong bit, a missing end or a file of another build in what lies around the shards of an index, or in one."""

import shutil
from pathlib import Path

import pytest
from support.damaged_indexes import attacked, mixed, verify_all
from support.word_passages import PASSAGES

from retrieval import Passage, RetrievalError, Retriever, load
from retrieval.bm25 import BM25
from retrieval.shards import split


def open_shards(path: Path) -> Retriever:
    return load(f"shards:{path}")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    BM25.build(PASSAGES, tmp_path / "whole")
    split(BM25(tmp_path / "whole"), tmp_path / "shards", 2)
    return tmp_path / "shards"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Shards of an index with other passages, as many."""
    BM25.build([Passage(p.id, f"{p.text} rome", p.title) for p in reversed(PASSAGES)], tmp_path / "turned")
    split(BM25(tmp_path / "turned"), tmp_path / "others", 2)
    return tmp_path / "others"


@pytest.mark.slow
def test_damaged_shards_are_said_or_answer(whole: Path, tmp_path: Path) -> None:
    assert attacked(whole, tmp_path / "index", open_shards) > 100


def test_shards_of_two_builds_do_not_fit_together(whole: Path, other: Path, tmp_path: Path) -> None:
    assert mixed(whole, other, tmp_path / "index", open_shards) > 10
    shutil.rmtree(whole / "1")
    shutil.copytree(other / "1", whole / "1")
    with pytest.raises(RetrievalError, match=r"1 is damaged: split the index again \(it is a shard of another index"):
        verify_all(whole)
    shutil.rmtree(whole / "1")
    BM25.build([Passage("a", "cat")], whole / "1")
    with pytest.raises(RetrievalError, match=r"1 is damaged: split the index again \(it has 1 passages instead of"):
        open_shards(whole)
