"""Searching a BM25 index on disk, memory-mapped.

The scores are bm25s's own, to the last bit, and so is the format of the index: `bm25s.BM25.load` opens it too.

    DIR/bm25.json                     format, analyser, settings and the size of every file; written last
        corpus.jsonl                  the passages, one JSON object per line
        vocab.index.json              token -> column, one entry per line, bucket by bucket
        vocab.buckets.npy             in which line each bucket begins
        *.offsets.npy                 where the lines of corpus and vocabulary begin
        {data,indices,indptr}.csc.index.npy, params.index.json    scores and rows, column by column
        bounds*.npy                   what scores may be in parts of the corpus: see `retrieval.bm25.bounds`

Where numba is installed (the extra `fast`), compiled code finds the best rows; where it is not, NumPy does. What is
found is the same. NumPy also does a process's first searches, since loading compiled code takes longer than they do,
and those in small indexes.
"""

import logging
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

from odqa.errors import RetrievalError
from odqa.files import damage, replace_directory, undamaged
from retrieval.base import Retriever
from retrieval.bm25.analyser import Analyser
from retrieval.bm25.bounds import SPAN_BITS, WINDOW_BITS, Bounds
from retrieval.bm25.build import BUCKETS, DESCRIPTION, FORMAT, VOCABULARY, bucket, check_weights, write_index
from retrieval.descriptions import read_description
from retrieval.indexes import (
    Corpus,
    Lines,
    OnDisk,
    Progress,
    built_at_once,
    check_target,
    kept_rows,
    read_array,
    stamp,
    updating,
)
from retrieval.known_item import sample_rows
from retrieval.passage import Passage

try:
    from retrieval.bm25 import kernel
except ModuleNotFoundError as missing:
    if missing.name != "numba":
        raise
    kernel = None  # type: ignore[assignment]

__all__ = ["BM25"]

_BLOCK = 1 << 8  # scores of which only the best is looked at first
_WORDS = 1 << 15  # whose columns are remembered
_LONGEST = 100  # characters of such a word, so that no query fills the memory
_BY_NUMPY = 10  # searches before compiled code is loaded, which takes half a second
_FEW = 5_000  # passages, over which NumPy is fast enough: compiling takes many seconds, once on a machine

logger = logging.getLogger(__name__)


class BM25(OnDisk, Retriever):
    """Searches an index that `BM25.build` made. Opening it reads a few passages; threads may share it.

    Args:
        path: Directory of the index.

    Raises:
        UsageError: `path` holds no finished index, or one of another format.
        RetrievalError: the index is damaged, or words are stemmed differently from when it was built.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        description = read_description(self.path, DESCRIPTION, "BM25", FORMAT)
        self._opened = stamp(self.path, DESCRIPTION)
        with undamaged(self.path / DESCRIPTION):
            self.k1, self.b, analyser = float(description["k1"]), float(description["b"]), description["analyser"]
            self.analyser = Analyser(analyser["stemmer"], tuple(analyser["stop_words"]), analyser["pattern"])
            step = float(description["bound_step"])
        self._corpus = Corpus(self.path)
        self._column = _columns(self.path, self.analyser)
        self._bounds = Bounds(self.path, step, len(self))
        with undamaged(self.path):
            self._index = bm25s.BM25.load(self.path, mmap=True, load_vocab=False)
            self._matrix = [self._index.scores[name].view(np.ndarray) for name in ("indptr", "indices", "data")]
            _check_matrix(*self._matrix)
        self._searches = count()
        self._checked: set[int] = set()
        self._check_analyser()

    def frequency(self, token: str) -> int:
        """How many passages have the token."""
        column = self._column(token)
        begins = self._index.scores["indptr"]
        return 0 if column is None else int(begins[column + 1] - begins[column])

    def search(self, query: str, k: int) -> list[Passage]:
        rows, scores = self.rank(query, k)
        return [self._corpus.passage(row, score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)]

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        if kernel is None or len(self) <= _FEW or len(queries) <= _BY_NUMPY:  # NumPy's part holds Python's lock
            return super().search_batch(queries, k)
        with ThreadPoolExecutor(min(len(queries), os.cpu_count() or 1)) as threads:
            return list(threads.map(lambda query: self.search(query, k), queries))

    def rank(self, query: str, k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The rows of the at most `k` best passages, best first, and their scores; the passages are not read."""
        columns = [column for word in self.analyser.kept_words(query) if (column := self._column(word)) is not None]
        if columns and not 0 <= min(columns) <= max(columns) < len(self._matrix[0]) - 1:
            raise damage(self.path / VOCABULARY, "a word has a column that is not there")
        if not columns:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        if kernel is None or len(self) <= _FEW or (before := next(self._searches)) < _BY_NUMPY:
            with undamaged(self.path):  # rows of no passage
                scores = self._index.get_scores_from_ids(columns)
            rows = _best(scores, k)
            return rows, scores[rows]
        if before == _BY_NUMPY and not kernel.is_compiled():
            logger.warning("compiling the search of BM25, once: this takes some seconds")
        self._check_columns(columns)
        known = self._bounds
        bounds = kernel.Bounds(known.columns, known.tops, known.values, known.starts, known.step)
        sizes = kernel.Sizes(len(self), WINDOW_BITS, SPAN_BITS, kernel.BLOCK_BITS)
        matrix = kernel.Matrix(*self._matrix)
        rows, scores = kernel.best_rows(np.array(columns), matrix, bounds, sizes, k, kernel.SMALL)
        order = np.lexsort((rows, -scores))
        return rows[order], scores[order]

    def update(self, *, add: Iterable[Passage] = (), delete: Iterable[str] = ()) -> "BM25":
        """Delete passages, add others; see `retrieval.indexes.UpdatableIndex`.

        Each passage that comes or goes changes the scores of all: how rare a word is, and how long a passage is on
        average. So this builds the index again, from its own passages and with its own settings. It gives what
        `BM25.build` would, and takes as long.
        """
        kept = map(self.passage, kept_rows(self._corpus, delete).tolist())
        path = self.path.resolve()
        with updating(path, DESCRIPTION, self._opened) as work:
            new = work / "index"
            shutil.rmtree(new, ignore_errors=True)  # of an update that was killed
            new.mkdir()
            try:
                write_index(chain(kept, add), new, self.analyser, self.k1, self.b, iter)
                replace_directory(path, new)
            except BaseException:
                shutil.rmtree(work)  # nothing in it helps the next update
                raise
        return BM25(path)

    def _check_columns(self, columns: Sequence[int]) -> None:
        """Check, once for each column, that compiled code stays within its arrays: it looks at no bounds of theirs."""
        begins, rows, _ = self._matrix
        for column in set(columns) - self._checked:
            part = rows[begins[column] : begins[column + 1]]
            whole = not len(part) or (part[0] >= 0 and part[-1] < len(self) and bool((part[1:] > part[:-1]).all()))
            if not whole or not self._bounds.fit(column, len(part)):
                raise damage(self.path, "a column leads outside of the matrix")
            self._checked.add(column)

    def _check_analyser(self) -> None:
        # Searches would not show the difference: most words are treated alike by both analysers.
        for passage in map(self.passage, sample_rows(len(self))):
            for word in self.analyser.kept_words(f"{passage.title} {passage.text}"):
                if self._column(word) is None:
                    token = self.analyser.make_stem()(word)
                    raise RetrievalError(
                        f"the analyser of {self.path} is not the one it was built with, or PyStemmer has changed: the "
                        f"passage {passage.id!r} has the token {token!r}, the vocabulary has not; build the index again"
                    )

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        out: str | Path,
        *,
        k1: float = 0.9,
        b: float = 0.4,
        stemmer: str | None = "english",
        stop_words: str | Iterable[str] | None = "english",
        overwrite: bool = False,
        progress: Progress = iter,
    ) -> "BM25":
        """Index passages, title and text together, and open the index.

        The passages are read once and not kept in memory: only the different words and the ids are. The index appears
        in `out` when it is whole. A killed build leaves a directory `OUT.building-…` beside it, which may be deleted;
        a directory `OUT.replaced` is the index that was being replaced.

        Args:
            passages: Any iterable; ids must differ and texts must not be blank.
            out: Directory to make, with its parents.
            k1: Saturation of term frequency, at least 0.
            b: Weight of the passage's length, from 0 to 1.
            stemmer: Name of a Snowball stemmer, or None.
            stop_words: "english" (bm25s's list of 33 words), words of your own, or None.
            overwrite: Replace an index that is already in `out`.
            progress: Wraps the list of the steps that follow the reading, as `tqdm.tqdm` does.

        Raises:
            UsageError: a setting is out of range, a passage cannot be indexed, no passage has a word, or `out` exists.
        """
        out = Path(out)
        check_weights(k1, b)
        check_target(out, DESCRIPTION, "BM25", overwrite)
        analyser = Analyser.from_settings(stemmer, stop_words)
        with built_at_once(out) as work:
            write_index(passages, work, analyser, k1, b, progress)
        return cls(out.resolve())


def _columns(path: Path, analyser: Analyser) -> Callable[[str], int | None]:
    """A function from a word to its token's column, or None, which reads the vocabulary on disk."""
    lines, buckets = Lines(path / VOCABULARY), read_array(path / BUCKETS, np.uint32, (None,), mapped=True)
    if len(buckets) < 2:
        raise damage(path / BUCKETS, "it is too short")

    @lru_cache(_WORDS)
    def column(word: str) -> int | None:
        sought = analyser.make_stem()(word).encode()
        number = bucket(sought, len(buckets) - 1)
        begin, end = int(buckets[number]), int(buckets[number + 1])
        if not 0 <= begin <= end <= len(lines):
            raise damage(path / BUCKETS, "a bucket is not in the vocabulary")
        try:
            for line in range(begin, end):
                _, found, value = lines[line].split(b'"')
                if found == sought:
                    return int(value.strip(b": ,}\n"))
        except ValueError as error:
            raise damage(path / VOCABULARY, error) from error
        return None

    return lambda word: column(word) if len(word) <= _LONGEST else column.__wrapped__(word)


def _check_matrix(begins: NDArray[Any], rows: NDArray[Any], scores: NDArray[Any]) -> None:
    """Check that no column leads outside of the matrix; what its rows are is not read.

    Raises:
        ValueError: it is damaged.
    """
    if [part.ndim for part in (begins, rows, scores)] != [1, 1, 1] or len(rows) != len(scores):
        raise ValueError("the parts of the matrix do not fit together")
    if begins.dtype.kind != "i" or rows.dtype.kind != "i" or scores.dtype != np.float32:
        raise ValueError("the matrix is of other numbers")
    if begins[0] != 0 or begins[-1] != len(rows) or (begins[1:] < begins[:-1]).any():
        raise ValueError("a column leads outside of the matrix")


def _best(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The rows of the `k` highest scores above 0, highest first, equal scores in the order of the rows."""
    # The k-th best of the blocks' best scores is a floor under the k best: few rows are left to sort.
    tops = np.maximum.reduceat(scores, np.arange(0, len(scores), _BLOCK))
    floor = np.partition(tops, -k)[-k] if len(tops) > k else 0
    rows = np.flatnonzero(scores >= floor) if floor > 0 else np.flatnonzero(scores)
    return rows[np.argsort(-scores[rows], kind="stable")[:k]]
