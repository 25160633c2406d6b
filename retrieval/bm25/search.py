"""BM25 on bm25s: an index on disk, built in one pass over a stream of passages and searched memory-mapped.

The scores are bm25s's own, to the last bit, and so is the format of the index: `bm25s.BM25.load` opens it too. What
bm25s does in memory at once is done here in pieces, so that a corpus of any length passes through bounded memory.

    DIR/bm25.json                     format, analyser, settings and the size of every file; written last
        corpus.jsonl                  the passages, one JSON object per line
        vocab.index.json              token -> column, one entry per line, sorted by token
        *.offsets.npy                 where the lines of these two begin
        {data,indices,indptr}.csc.index.npy, params.index.json    scores and rows, column by column
"""

import json
import math
import re
import shutil
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import bm25s
import numpy as np
import Stemmer
from bm25s.scoring import _select_idf_scorer, _select_tfc_scorer
from bm25s.stopwords import STOPWORDS_EN
from numpy.typing import NDArray

from retrieval.base import Retriever
from retrieval.errors import RetrievalError, UsageError
from retrieval.files import CORPUS, Lines, LineWriter, checked, from_line, publish, read_about, to_line, write_about
from retrieval.known_item import spread
from retrieval.passage import Passage

__all__ = ["BM25", "Analyser"]

_FORMAT = 1
_ABOUT = "bm25.json"
_VOCABULARY = "vocab.index.json"
_METHOD = "lucene"  # bm25s's default
_POSTING = "columns", "rows", "counts"

_CHUNK = 1 << 23  # words taken in before their postings are sorted and set down
_GROUP = 1 << 22  # postings scored at a time
_BLOCK = 1 << 8  # scores of which only the best is looked at first

Progress = Callable[[list[Any]], Iterable[Any]]
"""Passes a list through and shows how it goes, like `tqdm.tqdm`."""


@dataclass(frozen=True)
class Analyser:
    """Turns text into the tokens that are indexed and searched; stored with the index, so that both sides agree.

    Attributes:
        stemmer: Name of a Snowball stemmer, or None.
        stop_words: Lower-cased words that are left out, before stemming.
        pattern: Regular expression; its matches in the lower-cased text are the words.
    """

    stemmer: str | None
    stop_words: tuple[str, ...]
    pattern: str = r"\b\w\w+\b"

    def __call__(self, text: str) -> list[str]:
        """The tokens of `text`, in order."""
        stem = self.stem()
        return [stem(word) for word in self.words()(text) if word not in self.stop_words]

    def words(self) -> Callable[[str], list[str]]:
        """A function from text to all its words, stop words included."""
        find = re.compile(self.pattern).findall
        return lambda text: find(text.lower())

    def stem(self) -> Callable[[str], str]:
        """A function from a word to its token; one per thread, because stemmers keep state."""
        return Stemmer.Stemmer(self.stemmer, 0).stemWord if self.stemmer else str


class BM25(Retriever):
    """Searches an index that `BM25.build` made. Opening it reads a few passages; threads may share it.

    Args:
        path: Directory of the index.

    Raises:
        UsageError: `path` holds no finished index, or one of another format.
        RetrievalError: the index is damaged, or words are stemmed otherwise than when it was built.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        about = read_about(self.path, _ABOUT, "BM25", _FORMAT)
        analyser = about["analyser"]
        self.analyser = Analyser(analyser["stemmer"], tuple(analyser["stop_words"]), analyser["pattern"])
        self._passages = Lines(self.path / CORPUS)
        self._vocabulary = Lines(self.path / _VOCABULARY)
        self._index = bm25s.BM25.load(self.path, mmap=True, load_vocab=False)
        self._check_analyser()

    def __len__(self) -> int:
        return len(self._passages)

    def passage(self, row: int) -> Passage:
        """The passage in that row of the corpus, counted from 0."""
        return from_line(self._passages[row])

    def search(self, query: str, k: int) -> list[Passage]:
        columns = [column for token in self.analyser(query) if (column := self._column(token)) is not None]
        if not columns:
            return []
        scores = self._index.get_scores_from_ids(columns)
        return [self._passage(row, float(scores[row])) for row in _best(scores, k)]

    def _check_analyser(self) -> None:
        # Searches would not show it: most passages are found by the words that both analysers treat alike.
        for passage in map(self.passage, spread(len(self))):
            for token in self.analyser(f"{passage.title} {passage.text}"):
                if self._column(token) is None:
                    raise RetrievalError(
                        f"the analyser of {self.path} is not the one that it was built with, or PyStemmer has changed: "
                        f"the passage {passage.id!r} has the token {token!r}, the vocabulary has not; build it again"
                    )

    def _column(self, token: str) -> int | None:
        place = bisect_left(self._vocabulary, token.encode(), key=_token)
        if place == len(self._vocabulary) or _token(self._vocabulary[place]) != token.encode():
            return None
        return int(self._vocabulary[place].split(b'"')[2].strip(b": ,}\n"))

    def _passage(self, row: int, score: float) -> Passage:
        return from_line(self._passages[row], score)

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

        The passages are read once and not held: memory grows with the number of different words and ids alone. The
        index appears in `out` when it is whole. A build that is killed leaves a directory `OUT.building-…` beside
        it, which may be deleted; one that ends in `-old` is the index that was being replaced.

        Args:
            passages: Any iterable; ids must differ and texts must not be blank.
            out: Directory to make, with its parents.
            k1: Saturation of term frequency, at least 0.
            b: Weight of the passage's length, from 0 to 1.
            stemmer: Name of a Snowball stemmer, or None.
            stop_words: "english" (bm25s's list of 33 words), words of your own, or None.
            overwrite: Replace an index that is already in `out`.
            progress: Wraps the parts of the work that is left after the reading, as `tqdm.tqdm` does.

        Raises:
            UsageError: a setting is out of range, a passage is unfit, no passage has a word, or `out` exists.
        """
        out = Path(out)
        if not (0 <= k1 < math.inf and 0 <= b <= 1):
            raise UsageError(f"k1 must be a number from 0 up and b one from 0 to 1, not {k1} and {b}")
        if out.exists() and not overwrite:
            raise UsageError(f"{out} exists: choose another directory, or ask to overwrite it")
        if out.exists() and not (out / _ABOUT).is_file():
            raise UsageError(f"{out} is no BM25 index and is not overwritten: choose another directory")
        analyser = _analyser(stemmer, stop_words)
        out.parent.mkdir(parents=True, exist_ok=True)
        building = out.with_name(f"{out.name}.building-{uuid4().hex[:8]}")
        building.mkdir()
        try:
            _build(passages, building, analyser, k1, b, progress)
            publish(building, out)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        return cls(out)


def _best(scores: NDArray[np.float32], k: int) -> list[int]:
    """The rows of the `k` highest scores above 0, highest first, equal scores in the order of the rows."""
    # The k-th best of the blocks' best scores is a floor under the k best: few rows are left to sort.
    tops = np.maximum.reduceat(scores, np.arange(0, len(scores), _BLOCK))
    floor = np.partition(tops, -k)[-k] if len(tops) > k else 0
    rows = np.flatnonzero(scores >= floor) if floor > 0 else np.flatnonzero(scores)
    best: list[int] = rows[np.argsort(-scores[rows], kind="stable")[:k]].tolist()
    return best


def _token(entry: bytes) -> bytes:
    return entry.split(b'"', 2)[1]


def _analyser(stemmer: str | None, stop_words: str | Iterable[str] | None) -> Analyser:
    if stemmer is not None and stemmer not in Stemmer.algorithms():
        raise UsageError(f"unknown stemmer {stemmer!r}: use None or one of {', '.join(Stemmer.algorithms())}")
    if isinstance(stop_words, str) and stop_words != "english":
        raise UsageError(f"unknown stop words {stop_words!r}: use 'english', None or a list of words")
    words = STOPWORDS_EN if isinstance(stop_words, str) else stop_words or ()
    return Analyser(stemmer, tuple(sorted({word.lower() for word in words})))


def _build(
    passages: Iterable[Passage],
    out: Path,
    analyser: Analyser,
    k1: float,
    b: float,
    progress: Progress,
) -> None:
    words, columns, postings = analyser.words(), _Columns(analyser), _Postings(out)
    with LineWriter(out / CORPUS) as corpus:
        for passage in checked(passages):
            corpus.write(to_line(passage))
            postings.add([columns[word] for word in words(f"{passage.title} {passage.text}")])
    if not columns.tokens:
        raise UsageError("there is nothing to index: no passages, or none with a word that is not a stop word")
    postings.score(len(columns.tokens), k1, b, progress)

    with LineWriter(out / _VOCABULARY) as vocabulary:
        last = len(columns.tokens) - 1
        for n, (token, column) in enumerate(sorted(columns.tokens.items())):
            vocabulary.write((("" if n else "{") + f'"{token}": {column}' + (",\n" if n < last else "}")).encode())
    params = {"k1": k1, "b": b, "delta": 0.5, "method": _METHOD, "idf_method": _METHOD, "dtype": "float32"}
    params |= {"int_dtype": "int32", "num_docs": postings.passages, "version": bm25s.__version__}
    (out / "params.index.json").write_text(json.dumps(params))
    about = {"format": _FORMAT, "passages": postings.passages, "k1": k1, "b": b, "analyser": asdict(analyser)}
    write_about(out, _ABOUT, about)


class _Columns(dict[str, int]):
    """Word -> column of its token, -1 for a stop word; a word that is new gets its column when it is asked for."""

    def __init__(self, analyser: Analyser) -> None:
        super().__init__(dict.fromkeys(analyser.stop_words, -1))
        self.tokens: dict[str, int] = {}
        self._stem = analyser.stem()

    def __missing__(self, word: str) -> int:
        column = self[word] = self.tokens.setdefault(self._stem(word), len(self.tokens))
        return column


class _Postings:
    """Which tokens stand how often in which passages: taken in passage by passage, scored column by column.

    Postings are sorted a chunk at a time and set down in three files. They are scored a group of columns at a time,
    gathered from every chunk. So both sides need the memory of one chunk or group, however long the corpus is.
    """

    def __init__(self, out: Path) -> None:
        self.passages = 0
        self._out = out
        self._columns, self._sizes = array("i"), array("i")  # of this chunk: every word; words of each passage
        self._lengths: list[NDArray[np.int64]] = []  # per chunk: tokens of each passage
        self._ends = [0]  # where the chunks end in the files

    def add(self, columns: list[int]) -> None:
        """Take in the next passage: the columns of its words, -1 for a stop word."""
        self._columns.extend(columns)
        self._sizes.append(len(columns))
        self.passages += 1
        if len(self._columns) >= _CHUNK:
            self._set_down()

    def _set_down(self) -> None:
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

    def score(self, width: int, k1: float, b: float, progress: Progress) -> None:
        """Write bm25s's matrix of scores, passages by tokens, and remove the postings.

        Args:
            width: Number of columns.
            k1, b, progress: As in `BM25.build`.
        """
        if self._sizes:
            self._set_down()
        lengths = np.concatenate(self._lengths)
        frequencies = np.zeros(width, np.int64)
        for begin, end in pairwise(self._ends):
            frequencies += np.bincount(self._part("columns", begin, end), minlength=width)
        starts = np.zeros(width + 1, np.int64)
        np.cumsum(frequencies, out=starts[1:])
        idf = _idf(frequencies, self.passages)
        term = _select_tfc_scorer(_METHOD)

        with self._matrix("data", "<f4", starts[-1]) as data, self._matrix("indices", "<i4", starts[-1]) as indices:
            for first, last in progress(list(_groups(starts))):
                columns, rows, counts = self._gather(first, last)
                tf = term(counts.astype(np.float32), l_d=lengths[rows], l_avg=lengths.mean(), k1=k1, b=b)
                (idf[columns] * tf).astype(np.float32).tofile(data)
                rows.tofile(indices)
        np.save(self._out / "indptr.csc.index.npy", starts)
        for name in _POSTING:
            self._file(name).unlink()

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

    def _matrix(self, name: str, dtype: str, size: int) -> BinaryIO:
        file = (self._out / f"{name}.csc.index.npy").open("wb")
        np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": (int(size),)})
        return file


def _idf(frequencies: NDArray[np.int64], passages: int) -> NDArray[np.float32]:
    score = _select_idf_scorer(_METHOD)
    different, inverse = np.unique(frequencies, return_inverse=True)
    return np.array([score(int(n), N=passages) for n in different], np.float32)[inverse]


def _groups(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of neighbouring columns with at most `_GROUP` postings, or one column alone that has more."""
    first = 0
    while first < len(starts) - 1:
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + _GROUP, side="right")) - 1)
        yield first, last
        first = last
