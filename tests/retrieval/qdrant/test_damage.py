"""A wrong bit or a missing end in a directory of Qdrant: a clear error, or an answer."""

from pathlib import Path

from support.damaged_indexes import attacked
from support.word_passages import PASSAGES

from retrieval.qdrant import Qdrant


def test_a_damaged_collection_is_said_or_answers(tmp_path: Path) -> None:
    Qdrant.build(PASSAGES, tmp_path / "whole")
    assert attacked(tmp_path / "whole", tmp_path / "index", Qdrant, verified=False) > 60
