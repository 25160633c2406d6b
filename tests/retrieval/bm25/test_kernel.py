"""The compiled search: to the last bit what NumPy finds, whatever it passes over; and it runs wherever it is put."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.patience import PATIENCE

import retrieval.bm25.kernel as kernel
from odqa import files
from retrieval import Passage
from retrieval.bm25 import BM25, bounds, search

pytestmark = pytest.mark.needs("numba")


@pytest.fixture(autouse=True, scope="module")
def compiled() -> Iterator[None]:
    """Every search is the compiled one."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_BY_NUMPY", "_FEW"):
            patch.setattr(search, name, 0)
        yield


def by_numpy(index: BM25, query: str, k: int) -> tuple[list[int], list[float]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "kernel", None)
        return ranked(index, query, k)


def ranked(index: BM25, query: str, k: int) -> tuple[list[int], list[float]]:
    rows, scores = index.rank(query, k)
    return rows.tolist(), scores.tolist()


@given(
    passages=st.integers(1, 400),
    words=st.integers(1, 60),
    steepness=st.floats(0, 3),
    shapes=st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)),
    dense=st.sampled_from([1, 4, 16, 128]),
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    k=st.integers(1, 50),
    small=st.sampled_from([0, 0, 0, 10]),
    seed=st.integers(0, 1000),
)
def test_finds_what_numpy_finds_with_the_same_scores_and_ties(
    passages: int,
    words: int,
    steepness: float,
    shapes: tuple[int, int, int],
    dense: int,
    lengths: list[int],
    k: int,
    small: int,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, words + 1) ** steepness

    def text(length: int) -> str:  # few passages of the same kinds of length, so that many tie
        return " ".join(f"w{n}" for n in random.choice(words, length, p=shares / shares.sum()))

    window_bits, span_bits, block_bits = np.cumsum(shapes).tolist()
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        # As if the corpus were long: many windows, spans and blocks, columns with bounds and without.
        for module in bounds, search:
            patch.setattr(module, "WINDOW_BITS", window_bits)
            patch.setattr(module, "SPAN_BITS", span_bits)
        patch.setattr(kernel, "BLOCK_BITS", block_bits)
        patch.setattr(kernel, "SMALL", small)
        patch.setattr(bounds, "DENSE", dense)
        patch.setattr(files, "_sync", lambda path: None)
        corpus = [Passage(str(n), text(int(random.choice([3, 8, 20])))) for n in range(passages)]
        index = BM25.build(corpus, Path(directory) / "index", stemmer=None)
        for length in lengths:
            query = text(length)
            assert ranked(index, query, k) == by_numpy(index, query, k)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> BM25:
    """20,000 passages in windows and blocks of the usual sizes."""
    random = np.random.default_rng(0)
    drawn = np.minimum(random.zipf(1.3, (20_000, 30)), 30_000).tolist()
    passages = (Passage(str(n), " ".join(f"w{word}" for word in words)) for n, words in enumerate(drawn))
    return BM25.build(passages, tmp_path_factory.mktemp("large") / "index", stemmer=None)


@pytest.mark.parametrize("small", [0, kernel.SMALL])
@pytest.mark.parametrize("k", [1, 5, 100, 30_000])
def test_finds_what_numpy_finds_in_a_corpus_of_several_blocks(
    large: BM25, k: int, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "SMALL", small)
    for row in range(0, len(large), 2000):
        words = large.passage(row).text.split()
        for query in (" ".join(words), " ".join(words[:4]), "w1", "w1 w2 w3", f"{words[0]} " * 300):
            assert ranked(large, query, k) == by_numpy(large, query, k)


def test_a_batch_gives_what_one_by_one_gives(large: BM25) -> None:
    queries = [large.passage(row).text for row in range(0, len(large), 500)]
    assert large.batch(queries, 7) == [large(query, 7) for query in queries]


def test_the_first_searches_are_those_of_numpy(large: BM25, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_BY_NUMPY", 3)
    compiled = Mock(wraps=kernel.best_rows, stats=kernel.best_rows.stats)
    monkeypatch.setattr(kernel, "best_rows", compiled)
    index = BM25(large.path)
    found = [ranked(index, "w5 w6", 5) for _ in range(5)]
    assert compiled.call_count == 2
    assert found == 5 * found[:1]


def test_runs_where_nothing_can_be_kept(large: BM25) -> None:
    code = "from retrieval.bm25 import kernel; print(kernel.best_rows.stats.cache_path, kernel.is_compiled())"
    nowhere = os.environ | {"NUMBA_CACHE_LOCATOR_CLASSES": "ZipCacheLocator"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, env=nowhere)
    assert (done.returncode, done.stdout) == (0, "None False\n"), done.stderr
