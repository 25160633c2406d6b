from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import retrieval
from retrieval.shards import split

if TYPE_CHECKING:
    from retrieval.colbert import ColBERT


def test_shards_find_what_the_whole_finds(index: "ColBERT", tmp_path: Path) -> None:
    """Also where a shard begins and ends within a chunk."""
    split(index, tmp_path / "parts", 5)
    merged = retrieval.load(f"shards:{tmp_path / 'parts'}")
    queries = [index.passage(row).text[:80] for row in range(0, len(index), 3)]
    for expected, found in zip(index.batch(queries, 6), merged.batch(queries, 6), strict=True):
        assert [(p.id, p.text) for p in found] == [(p.id, p.text) for p in expected]
        assert [p.score for p in found] == pytest.approx([p.score for p in expected], rel=1e-4)
