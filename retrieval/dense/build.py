"""Building a dense index: encoding passages in pieces that a later build can use again, and joining the pieces."""

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from odqa.cluster import Workers
from odqa.errors import UsageError
from odqa.files import replaced
from retrieval.dense.encoder import PROBE, Encoder, LoadedEncoder, same_probe
from retrieval.descriptions import write_description
from retrieval.encoding import do_tasks
from retrieval.indexes import CORPUS, Corpus, LineWriter, Progress, checked_passages, passage_line, read_array
from retrieval.models import import_package
from retrieval.passage import Passage

__all__ = ["DESCRIPTION", "FORMAT", "GRAPH", "VECTORS", "Encoded", "Writer"]

DESCRIPTION = "dense.json"
FORMAT = 1
VECTORS = "vectors.npy"
GRAPH = "vectors.faiss"
_SHARD = 1024  # passages in a piece, which is encoded anew when the build was interrupted within it
_LINKS = 32  # of a vector in the graph, to each side
_BUILD_CANDIDATES = 200  # looked at for the links of a vector
_BLOCK = 1 << 16  # vectors put into the graph at a time


class Encoded(NamedTuple):
    """Passages that are encoded already, in another index: its corpus, what gives the vectors of some of its rows,
    and the rows to take over, in order."""

    corpus: Corpus
    vectors: Callable[[NDArray[np.int64]], NDArray[np.float32]]
    rows: NDArray[np.int64]


class Writer:
    """Writes an index, and uses what an unfinished build left behind; see `retrieval.dense.Dense.build`.

    Pieces that are encoded stay in `work`, the working directory of the build.
    """

    def __init__(
        self,
        work: Path,
        encoder: LoadedEncoder,
        *,
        approximate: bool,
        batch_size: int,
        resume: bool,
        workers: Workers | None = None,
    ) -> None:
        self._pieces, self._index, self._probe = work / "shards", work / "index", work / PROBE
        self._encoder, self._batch_size, self._workers = encoder, batch_size, workers
        self._approximate, self._resume = approximate, resume

    def write(
        self,
        passages: Iterable[Passage],
        encoded: Encoded | None = None,
        progress: Progress = lambda parts, desc: parts,
    ) -> Path:
        """Write the index, and give its directory, within the working directory. What is `encoded` stands before the
        passages.

        Raises:
            UsageError: a passage cannot be indexed, or there is none.
        """
        self._begin()
        rows = encoded.rows if encoded else np.empty(0, np.int64)
        known = map(encoded.corpus.passage, rows.tolist()) if encoded else ()
        checked = checked_passages(chain(known, passages))
        with LineWriter(self._index / CORPUS) as corpus:
            for passage in islice(checked, len(rows)):
                corpus.write(passage_line(passage))
            pieces = list(self._encode(checked, corpus))
        if not (pieces or len(rows)):
            raise UsageError("there is nothing to index: the corpus has no passages")
        if self._workers:
            self._encode_in(self._workers, pieces, len(rows), progress)
        _join([file for file, _ in pieces], self._index / VECTORS, encoded)
        if self._approximate:
            _link(self._index)
        description = {"format": FORMAT, "approximate": self._approximate, "encoder": asdict(self._encoder.encoder)}
        write_description(self._index, DESCRIPTION, description)
        return self._index

    def _begin(self) -> None:
        """Make the directories empty, but for pieces that this encoder made."""
        probe = self._encoder.probe()
        if not (self._resume and same_probe(self._probe, probe)):
            shutil.rmtree(self._pieces, ignore_errors=True)
        shutil.rmtree(self._index, ignore_errors=True)
        self._pieces.mkdir(exist_ok=True)
        self._index.mkdir()
        np.save(self._probe, probe)
        np.save(self._index / PROBE, probe)

    def _encode(self, passages: Iterator[Passage], corpus: LineWriter) -> Iterator[tuple[Path, int]]:
        """Write the passages to the corpus, and one file of vectors per `_SHARD` of them, unless workers do.

        A file is named by the digest of its passages. One that is there already is left as it is. Gives each file, and
        how many passages it is for.
        """
        while part := list(islice(passages, _SHARD)):
            written = [passage_line(passage) for passage in part]
            for line in written:
                corpus.write(line)
            file = self._pieces / f"{hashlib.sha256(b''.join(written)).hexdigest()}.npy"
            if not (self._workers or file.exists()):
                _write_vectors(self._encoder, part, self._batch_size, file)
            yield file, len(part)

    def _encode_in(self, workers: Workers, pieces: Sequence[tuple[Path, int]], first: int, progress: Progress) -> None:
        """Have workers encode the pieces that are not there, of the passages from row `first` on."""
        ends = np.cumsum([first, *(size for _, size in pieces)]).tolist()
        missing = [
            (str(file), begin, end)
            for (file, _), (begin, end) in zip(pieces, pairwise(ends), strict=True)
            if not file.exists()
        ]
        arguments = self._encoder.encoder, self._encoder.device, str(self._index), self._batch_size
        do_tasks(workers, _Worker, arguments, missing, progress=progress, stage="encoding")


class _Worker:
    """Encodes pieces of the corpus of an index in another process."""

    def __init__(self, encoder: Encoder, device: str | None, index: str, batch_size: int) -> None:
        self._encoder, self._corpus, self._batch_size = LoadedEncoder(encoder, device), Corpus(Path(index)), batch_size

    def __call__(self, task: tuple[str, int, int]) -> None:
        file, begin, end = task
        passages = [self._corpus.passage(row) for row in range(begin, end)]
        _write_vectors(self._encoder, passages, self._batch_size, Path(file))


def _write_vectors(encoder: LoadedEncoder, passages: Sequence[Passage], batch_size: int, file: Path) -> None:
    with replaced(file) as piece:
        np.save(piece, encoder.encode_passages(passages, batch_size))


def _join(files: Sequence[Path], out: Path, encoded: Encoded | None) -> None:
    """Write the vectors of an exact index: those that are known, then those of the files."""
    known = [encoded.rows[begin : begin + _BLOCK] for begin in range(0, len(encoded.rows), _BLOCK)] if encoded else []
    sizes = [len(rows) for rows in known] + [len(read_array(file, mapped=True)) for file in files]
    parts = chain((encoded.vectors(rows) for rows in known) if encoded else (), map(read_array, files))
    first = next(parts)
    vectors = np.lib.format.open_memmap(out, "w+", np.dtype(np.float32), (sum(sizes), first.shape[1]))
    row = 0
    for part in chain([first], parts):
        vectors[row : row + len(part)] = part
        row += len(part)


def _link(index: Path) -> None:
    """Turn the vectors of an exact index into a graph."""
    faiss = import_package("faiss")
    vectors = read_array(index / VECTORS, mapped=True)
    graph = faiss.IndexHNSWFlat(vectors.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = _BUILD_CANDIDATES
    for begin in range(0, len(vectors), _BLOCK):
        graph.add(vectors[begin : begin + _BLOCK])
    faiss.write_index(graph, str(index / GRAPH))
    (index / VECTORS).unlink()
