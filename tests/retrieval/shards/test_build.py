from collections.abc import Callable
from pathlib import Path

import pytest

import retrieval
from retrieval import Memory, Passage, UsageError
from retrieval.bm25 import BM25
from retrieval.corpora import SAMPLE, read
from retrieval.shards import split

QUERIES = [
    "Where in Finland was the designer of the tall arch in St. Louis born?",
    "the river in the city",
    "chemist who discovered samarium",
    "a word that is nowhere: qwertz",
    "",
]


def test_shards_of_bm25_score_as_the_whole_and_break_ties_as_it_does(tmp_path: Path) -> None:
    same = [Passage(f"same{n}", "The river flows through the old city.") for n in range(8)]
    whole = BM25.build([*same[:4], *read(SAMPLE), *same[4:]], tmp_path / "whole", k1=1.2, b=0.75)
    for count in (1, 2, 5):
        split(whole, tmp_path / str(count), count)
        merged = retrieval.load(f"shards:{tmp_path / str(count)}")
        for k in (1, 5, 30):
            assert told(merged, k) == told(whole, k)
    assert [p.id for p in whole("the river in the city", 8)] == [passage.id for passage in same]


def told(retriever: retrieval.Retriever, k: int) -> list[list[tuple[str, str, float | None]]]:
    return [[(p.id, p.text, p.score) for p in found] for found in retriever.batch(QUERIES, k)]


@pytest.mark.needs("sentence_transformers")
@pytest.mark.parametrize("approximate", [False, True])
def test_shards_of_a_dense_index_find_what_it_finds(
    tiny: Callable[..., str], tmp_path: Path, approximate: bool
) -> None:
    from retrieval.dense import Dense

    passages = list(read(SAMPLE))[:60]
    whole = Dense.build(passages, tmp_path / "whole", encoder=tiny("bert"), approximate=approximate, device="cpu")
    split(whole, tmp_path / "parts", 3)
    merged = retrieval.load(tmp_path / "parts")
    for expected, found in zip(whole.batch(QUERIES, 7), merged.batch(QUERIES, 7), strict=True):
        assert [p.id for p in found] == [p.id for p in expected]
        assert [p.score for p in found] == pytest.approx([p.score for p in expected], rel=1e-4)


def test_an_index_that_cannot_be_split_is_refused(tmp_path: Path) -> None:
    whole = BM25.build([Passage("1", "one passage"), Passage("2", "two passages")], tmp_path / "whole")
    with pytest.raises(UsageError, match="only an index of bm25, dense or colbert has shards, not Memory"):
        split(Memory([Passage("1", "text")]), tmp_path / "out", 1)
    for count in (0, 3):
        with pytest.raises(UsageError, match=f"has from 1 to 2 shards, not {count}"):
            split(whole, tmp_path / "out", count)
    with pytest.raises(UsageError, match="exists and is no sharded index"):
        split(whole, tmp_path / "whole", 2, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["whole"]
    with pytest.raises(UsageError, match="there are no shards in"):
        retrieval.load(f"shards:{tmp_path / 'whole'}")
