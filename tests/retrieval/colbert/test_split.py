from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import retrieval
from retrieval.shards import Sharded, split

if TYPE_CHECKING:
    from retrieval.colbert import ColBERT


@pytest.mark.slow
def test_shards_prune_together_as_the_whole_does(
    index: "ColBERT", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retrieval.colbert import search

    monkeypatch.setattr(search, "_NDOCS", 12)  # of which 3 are scored
    split(index, tmp_path / "parts", 4)
    merged = retrieval.load(f"shards:{tmp_path / 'parts'}")
    alone = Sharded(merged._shards)  # each shard prunes for itself
    queries = [" ".join(index.passage(row).text.split()[3:7]) for row in range(len(index))]
    expected = ids(index.batch(queries, 3))
    assert ids(merged.batch(queries, 3)) == expected
    assert ids(alone.batch(queries, 3)) != expected


def ids(found: list[list[retrieval.Passage]]) -> list[list[str]]:
    return [[passage.id for passage in passages] for passages in found]


@pytest.mark.slow
def test_shards_find_what_the_whole_finds(index: "ColBERT", tmp_path: Path) -> None:
    """Also where a shard begins and ends within a chunk."""
    split(index, tmp_path / "parts", 5)
    merged = retrieval.load(f"shards:{tmp_path / 'parts'}")
    queries = [index.passage(row).text[:80] for row in range(0, len(index), 3)]
    for expected, found in zip(index.batch(queries, 6), merged.batch(queries, 6), strict=True):
        assert [(p.id, p.text) for p in found] == [(p.id, p.text) for p in expected]
        assert [p.score for p in found] == pytest.approx([p.score for p in expected], rel=1e-4)
