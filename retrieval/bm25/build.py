"""Writing a BM25 index in one pass over a stream of passages, in bounded memory.

The scores and the format are bm25s's own; `retrieval.bm25.search` lists the files. bm25s scores a corpus in memory, at
once. Here the same is done in pieces, so that the corpus may be of any length.
"""

import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

import bm25s
import numpy as np
from bm25s.scoring import _select_idf_scorer, _select_tfc_scorer
from numpy.typing import NDArray

from odqa.errors import UsageError
from retrieval.bm25.analyser import Analyser
from retrieval.bm25.bounds import BoundsWriter, open_array
from retrieval.descriptions import write_description
from retrieval.indexes import CORPUS, LineWriter, Progress, checked_passages, passage_line
from retrieval.passage import Passage

__all__ = [
    "BUCKETS",
    "DESCRIPTION",
    "FORMAT",
    "VOCABULARY",
    "Statistics",
    "bucket",
    "check_weights",
    "rarity",
    "saturation",
    "write_index",
]

FORMAT = 2
DESCRIPTION = "bm25.json"
VOCABULARY = "vocab.index.json"
BUCKETS = "vocab.buckets.npy"
_METHOD = "lucene"  # the variant of BM25; bm25s's default
_POSTING = "columns", "rows", "counts"

_CHUNK = 1 << 23  # words read before their postings are sorted and written down
_GROUP = 1 << 22  # postings scored at a time


class Statistics(NamedTuple):
    """What the scores of a part of an index depend on besides its own passages."""

    passages: int
    """How many passages the whole index has."""
    mean_length: float
    """The mean length of all its passages, in tokens."""
    frequency: Callable[[str], int]
    """How many of all its passages have a token."""


def write_index(
    passages: Iterable[Passage],
    directory: Path,
    analyser: Analyser,
    k1: float,
    b: float,
    progress: Progress,
    whole: Statistics | None = None,
) -> None:
    """Write all files of an index into an empty directory; see `retrieval.bm25.BM25.build`.

    Args:
        whole: What is known of the index that this is a part of; by default these passages are all.

    Raises:
        UsageError: a passage cannot be indexed, or no passage has a word.
    """
    words, columns, postings = analyser.make_words(), _Columns(analyser), _Postings(directory)
    with LineWriter(directory / CORPUS) as corpus:
        for passage in checked_passages(passages):
            corpus.write(passage_line(passage))
            postings.add([columns[word] for word in words(f"{passage.title} {passage.text}")])
    if not columns.tokens:
        raise UsageError("there is nothing to index: no passages, or none with a word that is not a stop word")
    bound_step = postings.score(list(columns.tokens), k1, b, progress, whole)
    _write_vocabulary(directory, columns.tokens)
    params = {"k1": k1, "b": b, "delta": 0.5, "method": _METHOD, "idf_method": _METHOD, "dtype": "float32"}
    params |= {"int_dtype": "int32", "num_docs": postings.passages, "version": bm25s.__version__}
    (directory / "params.index.json").write_text(json.dumps(params))
    description = {"format": FORMAT, "passages": postings.passages, "k1": k1, "b": b, "analyser": asdict(analyser)}
    description["bound_step"] = bound_step
    write_description(directory, DESCRIPTION, description)


def bucket(token: bytes, buckets: int) -> int:
    """In which of the buckets of the vocabulary, a power of two, the token is."""
    return crc32(token) & buckets - 1


def rarity(frequencies: NDArray[np.int64], passages: int) -> NDArray[np.float32]:
    """The inverse document frequency (idf) of tokens, from how many of the passages have each."""
    score = _select_idf_scorer(_METHOD)
    different, inverse = np.unique(frequencies, return_inverse=True)
    return np.array([score(int(n), N=passages) for n in different], np.float32)[inverse]


def saturation(
    counts: NDArray[np.float32], lengths: NDArray[np.int64], mean_length: float, k1: float, b: float
) -> NDArray[Any]:
    """The term frequency component of scores, from how often passages have a token, and their lengths in tokens."""
    found: NDArray[Any] = _select_tfc_scorer(_METHOD)(counts, l_d=lengths, l_avg=mean_length, k1=k1, b=b)
    return found


def check_weights(k1: float, b: float) -> None:
    """Raise `UsageError` where one is out of range."""
    if not (0 <= k1 < math.inf and 0 <= b <= 1):
        raise UsageError(f"k1 must be a number from 0 up and b one from 0 to 1, not {k1} and {b}")


def _write_vocabulary(directory: Path, tokens: dict[str, int]) -> None:
    """Write the tokens with their columns bucket by bucket, so that one is found by looking into one bucket."""
    buckets = 1 << (len(tokens) - 1).bit_length()
    placed = sorted((bucket(token.encode(), buckets), token) for token in tokens)
    with LineWriter(directory / VOCABULARY) as vocabulary:
        for n, (_, token) in enumerate(placed):
            entry = ("" if n else "{") + f'"{token}": {tokens[token]}' + (",\n" if n < len(placed) - 1 else "}")
            vocabulary.write(entry.encode())
    sizes = np.bincount([number for number, _ in placed], minlength=buckets)
    np.save(directory / BUCKETS, np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32))


class _Columns(dict[str, int]):
    """Maps a word to the column of its token, or to -1 for a stop word; a new word gets its column when looked up."""

    def __init__(self, analyser: Analyser) -> None:
        super().__init__(dict.fromkeys(analyser.stop_words, -1))
        self.tokens: dict[str, int] = {}
        self._stem = analyser.make_stem()

    def __missing__(self, word: str) -> int:
        column = self[word] = self.tokens.setdefault(self._stem(word), len(self.tokens))
        return column


class _Postings:
    """How often each token stands in each passage: collected passage by passage, scored column by column.

    Postings are sorted one chunk at a time and written to three files. Then they are scored one group of columns at a
    time, gathered from all chunks. So the memory needed is that of one chunk or one group, however long the corpus is.
    """

    def __init__(self, out: Path) -> None:
        self.passages = 0
        self._out = out
        self._columns = array("i")  # of every word of this chunk
        self._sizes = array("i")  # words of each passage of this chunk
        self._lengths: list[NDArray[np.int64]] = []  # per chunk: tokens of each passage
        self._ends = [0]  # where each chunk ends in the files

    def add(self, columns: list[int]) -> None:
        """Add the next passage: the columns of its words, -1 for a stop word."""
        self._columns.extend(columns)
        self._sizes.append(len(columns))
        self.passages += 1
        if len(self._columns) >= _CHUNK:
            self._flush()

    def _flush(self) -> None:
        columns = np.frombuffer(self._columns, np.int32)
        kept = columns >= 0
        rows = np.repeat(np.arange(len(self._sizes)), self._sizes)[kept]
        self._lengths.append(np.bincount(rows, minlength=len(self._sizes)))
        rows += self.passages - len(self._sizes)
        pairs, counts = np.unique(columns[kept].astype(np.int64) << 32 | rows, return_counts=True)
        for name, values in zip(_POSTING, (pairs >> 32, pairs & 0xFFFFFFFF, counts), strict=True):
            with self._file(name).open("ab") as file:
                values.astype(np.int32).tofile(file)
        if len(pairs):
            self._ends.append(self._ends[-1] + len(pairs))
        self._columns, self._sizes = array("i"), array("i")

    def score(self, tokens: Sequence[str], k1: float, b: float, progress: Progress, whole: Statistics | None) -> float:
        """Write bm25s's matrix of scores, passages by tokens, with its bounds, and remove the postings; gives the
        step of the bounds. `tokens` are those of the columns, in order."""
        if self._sizes:
            self._flush()
        width = len(tokens)
        lengths = np.concatenate(self._lengths)
        mean_length = lengths.mean() if whole is None else whole.mean_length
        frequencies = np.zeros(width, np.int64)
        for begin, end in pairwise(self._ends):
            frequencies += np.bincount(self._part("columns", begin, end), minlength=width)
        starts = np.zeros(width + 1, np.int64)
        np.cumsum(frequencies, out=starts[1:])
        if whole is None:
            idf = rarity(frequencies, self.passages)
        else:
            idf = rarity(np.array([whole.frequency(token) for token in tokens]), whole.passages)

        files = self._matrix("data", np.float32, starts[-1]), self._matrix("indices", np.int32, starts[-1])
        with files[0] as data, files[1] as indices, BoundsWriter(self._out, frequencies, idf, self.passages) as bounds:
            for first, last in progress(list(_groups(starts))):
                columns, rows, counts = self._gather(first, last)
                tf = saturation(counts.astype(np.float32), lengths[rows], mean_length, k1, b)
                scores = (idf[columns] * tf).astype(np.float32)
                scores.tofile(data)
                rows.tofile(indices)
                bounds.add(first, last, rows, scores)
        np.save(self._out / "indptr.csc.index.npy", starts)
        for name in _POSTING:
            self._file(name).unlink()
        return bounds.step

    def _gather(self, first: int, last: int) -> list[NDArray[np.int32]]:
        """Columns, rows and counts of the postings in the columns from `first` to before `last`, sorted."""
        parts = []
        for begin, end in pairwise(self._ends):
            inside = slice(*np.searchsorted(self._part("columns", begin, end), [first, last]))
            parts.append([self._part(name, begin, end)[inside] for name in _POSTING])
        columns, rows, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(columns, kind="stable")  # rows are in order: in every chunk, and from chunk to chunk
        return [columns[order], rows[order], counts[order]]

    def _part(self, name: str, begin: int, end: int) -> NDArray[np.int32]:
        return np.memmap(self._file(name), np.int32, "r", offset=4 * begin, shape=(end - begin,))

    def _file(self, name: str) -> Path:
        return self._out / f"{name}.postings"

    def _matrix(self, name: str, dtype: type[np.generic], size: int) -> BinaryIO:
        return open_array(self._out / f"{name}.csc.index.npy", dtype, size)


def _groups(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of neighbouring columns with at most `_GROUP` postings, or one column alone that has more."""
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + _GROUP, side="right")) - 1)
        yield first, last
        first = last
