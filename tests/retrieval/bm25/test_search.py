"""Searching BM25 indexes: what is found, and that nothing opens unless it is whole."""

import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bm25s
import pytest
from support.patience import PATIENCE

from retrieval import Passage
from retrieval.bm25 import BM25, search

CORPUS = [
    Passage("a", "Cats chase mice at night.", "Cats"),
    Passage("b", "Dogs chase cats, and dogs chase dogs.", "Dogs"),
    Passage("c", "The Seine flows through Paris.", "Seine"),
]


def test_bm25s_itself_opens_the_index(tmp_path: Path) -> None:
    ours = BM25.build(CORPUS, tmp_path / "index")("dogs chase mice", 3)
    theirs = bm25s.BM25.load(tmp_path / "index", mmap=True)
    rows, scores = theirs.retrieve([["dog", "chase", "mice"]], k=2, show_progress=False)
    assert [CORPUS[row].id for row in rows[0]] == [p.id for p in ours] == ["b", "a"]
    assert scores[0].tolist() == [p.score for p in ours]


def test_passages_come_back_as_they_went_in(tmp_path: Path) -> None:
    odd = Passage('"{}\n', "line one\nline two\u2028 – Ünïcode \U0001f600 \\ \x00", "tab\t“quotes”")
    index = BM25.build([*CORPUS, odd], tmp_path / "index")
    (found,) = BM25(tmp_path / "index")("ünïcode quotes", 5)
    assert (found.id, found.text, found.title) == (odd.id, odd.text, odd.title)
    assert found.score is not None
    assert len(index) == 4


def test_queries_of_long_words_do_not_fill_the_memory(tmp_path: Path) -> None:
    long = Passage("long", "mice " + "a" * 200, "Long")
    index = BM25.build([*CORPUS, long], tmp_path / "index")
    assert [passage.id for passage in index("a" * 200, 3)] == ["long"]
    tracemalloc.start()
    for n in range(1_000):
        assert not index(f"{n}{'a' * 10_000}", 3)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_000_000  # of 10,000,000


def test_a_query_without_a_known_word_finds_nothing(tmp_path: Path) -> None:
    index = BM25.build(CORPUS, tmp_path / "index")
    assert [index(query) for query in ("xylophone", "the of and", "?!", "  ", "")] == [[], [], [], [], []]
    assert index.batch(["the", "Seine", ""], 9) == [[], [CORPUS[2]], []]


def test_only_passages_with_a_score_are_found(tmp_path: Path) -> None:
    assert [p.id for p in BM25.build(CORPUS, tmp_path / "index")("cats", k=100)] == ["a", "b"]


def test_the_stored_analyser_is_used_for_queries(tmp_path: Path) -> None:
    stemmed = BM25.build(CORPUS, tmp_path / "stemmed")
    exact = BM25.build(CORPUS, tmp_path / "exact", stemmer=None, stop_words=None)
    own = BM25.build(CORPUS, tmp_path / "own", stop_words=["Paris", "seine", "flows", "through"])
    assert [p.id for p in stemmed("dog")] == ["b"]
    assert [p.id for p in exact("dog")] == []
    assert [p.id for p in exact("the")] == ["c"]
    assert [p.id for p in own("the Seine in PARIS")] == ["c"]  # by "the", which is not one of its stop words
    assert [p.id for p in own("Seine, Paris")] == []


def test_title_and_text_are_searched(tmp_path: Path) -> None:
    index = BM25.build([Passage("1", "About rivers.", "Loire"), Passage("2", "The Loire.")], tmp_path / "index")
    assert {p.id for p in index("loire")} == {"1", "2"}


def test_threads_may_share_an_index(tmp_path: Path) -> None:
    index = BM25.build([Passage(str(n), f"word{n % 7} thing{n % 11} running{n}") for n in range(500)], tmp_path / "i")
    queries = [f"word{n % 7} things{n % 11} running{n}" for n in range(200)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(index, queries)) == [index(query) for query in queries]


def test_without_numba_the_same_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_BY_NUMPY", "_FEW"):
        monkeypatch.setattr(search, name, 0)
    index = BM25.build(CORPUS, tmp_path / "index")
    code = """
import sys
sys.modules["numba"] = None
from retrieval.bm25 import BM25
print(*[[(p.id, p.score) for p in found] for found in BM25(sys.argv[1]).batch(["dogs chase mice", "Seine"] * 9, 3)])
"""
    command = [sys.executable, "-c", code, str(index.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    found = [[(p.id, p.score) for p in index(query, 3)] for query in ["dogs chase mice", "Seine"] * 9]
    assert (done.returncode, done.stdout, done.stderr) == (0, " ".join(map(str, found)) + "\n", "")
