"""Building BM25 indexes: the scores of plain bm25s, whatever the corpus; and no index that opens unless it is whole."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import bm25s
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st
from support.patience import PATIENCE

from odqa import files
from retrieval import Passage, UsageError
from retrieval.bm25 import BM25, build, search

CORPUS = [
    Passage("a", "Cats chase mice at night.", "Cats"),
    Passage("b", "Dogs chase cats, and dogs chase dogs.", "Dogs"),
    Passage("c", "The Seine flows through Paris.", "Seine"),
]

# Few words, so that passages share words, repeat them and tie. "the" and "will" are stop words, "runs" and "running"
# have one stem, and the stem of "wills" is a stop word.
WORDS = st.sampled_from(["the", "will", "wills", "run", "runs", "running", "Ünïcode", "cat", "x", "42", "a_b", "don't"])
TEXTS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


def plain(passages: list[Passage], query: str, stemmer: str | None, **parameters: float) -> list[tuple[str, float]]:
    """What bm25s finds by itself: (id, score) of every passage with a score, best first, ties in corpus order."""
    analysis = {"stopwords": "en", "stemmer": Stemmer.Stemmer(stemmer) if stemmer else None, "show_progress": False}
    index = bm25s.BM25(**parameters)
    index.index(bm25s.tokenize([f"{p.title} {p.text}" for p in passages], **analysis), show_progress=False)
    tokens = bm25s.tokenize(query, return_ids=False, **analysis)[0]
    scores = index.get_scores(tokens) if tokens else [0.0] * len(passages)
    found = [(p.id, float(score)) for p, score in zip(passages, scores, strict=True) if score > 0]
    return sorted(found, key=lambda pair: -pair[1])


@pytest.mark.slow
@given(
    texts=st.lists(TEXTS, min_size=1, max_size=30).filter(lambda texts: {"run", "42"} & set(" ".join(texts).split())),
    titles=st.sampled_from(["", "cat", "the runs"]),
    queries=st.lists(TEXTS, min_size=1, max_size=3),
    k=st.integers(1, 40),
    k1=st.sampled_from([0, 0.9, 1.5]),
    b=st.sampled_from([0, 0.4, 1]),
    stemmer=st.sampled_from(["english", None]),
    pieces=st.tuples(st.integers(1, 60), st.integers(1, 60), st.integers(1, 8)),
)
def test_finds_what_plain_bm25s_finds_with_the_same_scores(
    texts: list[str],
    titles: str,
    queries: list[str],
    k: int,
    k1: float,
    b: float,
    stemmer: str | None,
    pieces: tuple[int, int, int],
) -> None:
    passages = [Passage(str(n), text, titles) for n, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        # As if the corpus were long: many chunks, groups and blocks.
        for module, name, size in zip((build, build, search), ("_CHUNK", "_GROUP", "_BLOCK"), pieces, strict=True):
            patch.setattr(module, name, size)
        for name in ("_BY_NUMPY", "_FEW"):
            patch.setattr(search, name, 0)
        patch.setattr(files, "_sync", lambda path: None)
        index = BM25.build(iter(passages), Path(directory) / "index", k1=k1, b=b, stemmer=stemmer)
        for kernel in {search.kernel, None}:  # with and without numba
            patch.setattr(search, "kernel", kernel)
            for query, found in zip(queries, index.batch(queries, k), strict=True):
                assert [(p.id, p.score) for p in found] == plain(passages, query, stemmer, k1=k1, b=b)[:k]
                assert found == index(query, k)


@pytest.mark.parametrize(
    ("passages", "settings", "message"),
    [
        ([Passage("a", "the of and")], {}, "nothing to index"),
        (CORPUS, {"k1": -1}, "k1 must be a number from 0 up"),
        (CORPUS, {"k1": float("inf")}, "k1 must be a number from 0 up"),
        (CORPUS, {"b": 1.5}, "b one from 0 to 1"),
        (CORPUS, {"b": float("nan")}, "b one from 0 to 1"),
        (CORPUS, {"stemmer": "klingon"}, "unknown stemmer"),
    ],
)
def test_what_cannot_be_indexed_is_said_in_one_line_and_leaves_nothing(
    tmp_path: Path, passages: list[Passage], settings: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        BM25.build(passages, tmp_path / "index", **settings)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_corpus_passes_through_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        BM25.build((Passage(str(n), f"text {1 / (3 - n)}") for n in range(9)), tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


# Builds in a child process that kills itself just before its n-th step in the file system, for n = 0, 1, 2 … until one
# gets through. Prints after each which of the directories that are there open, and what they hold.
KILLED = """
import json, os, shutil, signal, sys
from pathlib import Path
from retrieval import OdqaError, Passage
from odqa import files
from retrieval.bm25 import BM25, build

build._CHUNK = 20
files._sync = lambda path: None  # a kill, unlike a power cut, loses nothing that is written
here, old = Path(sys.argv[1]), Path(sys.argv[2])
corpus = [Passage(str(n), f"common word{n % 3} word{n}") for n in range(20)]
steps, finished = 0, False
while not finished:
    here.mkdir()
    if old.exists():
        shutil.copytree(old, here / "index")
    if (child := os.fork()) == 0:
        left = steps

        def before(event, arguments):
            global left
            if event == "open" or event.startswith(("os.", "shutil.")):
                left -= 1
                if left == -1:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(before)
        BM25.build(corpus, here / "index", overwrite=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    finished, opened = status == 0, {}
    for directory in here.iterdir():
        try:
            index = BM25(directory)
        except OdqaError:
            continue
        opened[directory.name] = [len(index), len(index("common", 100))]
    print(json.dumps(opened))
    shutil.rmtree(here)
    steps += 1
"""


NEW, OLD = [20, 20], [2, 2]  # passages, passages that are found


def what_opens_after_kills(here: Path, old: Path) -> tuple[list[list[int] | None], list[list[int]]]:
    """What "index" was after each kill, None where it did not open; and all others that opened."""
    command = [sys.executable, "-c", KILLED, str(here), str(old)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    opened = [json.loads(line) for line in done.stdout.splitlines()]
    return [found.pop("index", None) for found in opened], [other for found in opened for other in found.values()]


@pytest.mark.slow
def test_a_killed_build_leaves_no_half_index_that_opens(tmp_path: Path) -> None:
    index, others = what_opens_after_kills(tmp_path / "here", tmp_path / "none")
    assert index.count(None) >= 20
    assert index == [None] * index.count(None) + [NEW] * index.count(NEW)
    assert index[-1] == NEW
    assert all(other == NEW for other in others)


@pytest.mark.slow
def test_a_killed_replacement_leaves_the_old_index_or_the_new(tmp_path: Path) -> None:
    BM25.build([Passage("1", "common"), Passage("2", "common")], tmp_path / "old")
    index, others = what_opens_after_kills(tmp_path / "here", tmp_path / "old")
    assert index.count(OLD) >= 20
    assert index == [OLD] * index.count(OLD) + [None] + [NEW] * index.count(NEW)
    assert index[-1] == NEW
    assert all(other in (OLD, NEW) for other in others)
