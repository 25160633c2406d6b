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

__all__ = ["DESCRIPTION", "FORMAT", "GRAPH", "VECTORS", "Encoded", "write_index"]

DESCRIPTION = "dense.json"
FORMAT = 1
VECTORS = "vectors.npy"
GRAPH = "vectors.faiss"
_SHARD = 1024  # passages in a piece, which is encoded anew when the build was interrupted within it
_LINKS = 32  # of a vector in the graph, to each side
_BUILD_CANDIDATES = 200  # looked at for the links of a vector
_BLOCK = 1 << 16  # vectors put into the graph at a time


class Encoded(NamedTuple):
    """Passages that are encoded already, in another index.

    Attributes:
        corpus: The passages of that index.
        vectors: Gives the vectors of some of its rows.
        rows: Those to take over, in order.
    """

    corpus: Corpus
    vectors: Callable[[NDArray[np.int64]], NDArray[np.float32]]
    rows: NDArray[np.int64]


def write_index(
    passages: Iterable[Passage],
    work: Path,
    encoder: LoadedEncoder,
    *,
    approximate: bool,
    batch_size: int,
    resume: bool,
    encoded: Encoded | None = None,
    workers: Workers | None = None,
    progress: Progress = lambda parts, desc: parts,
) -> Path:
    """Write an index, using what an unfinished build left behind.

    Args:
        passages: See `retrieval.dense.Dense.build`; likewise the settings.
        work: The working directory of the build. Pieces that are encoded stay there.
        encoder: Encodes the passages.
        encoded: What stands before the passages and need not be encoded.
        workers: Where to encode; by default here.
        progress: See `retrieval.dense.Dense.build`.

    Returns:
        The directory of the finished index, within `work`.

    Raises:
        UsageError: a passage cannot be indexed, or there is none.
    """
    shards, index = work / "shards", work / "index"
    probe = encoder.probe()
    if not (resume and same_probe(work / PROBE, probe)):
        shutil.rmtree(shards, ignore_errors=True)
    shutil.rmtree(index, ignore_errors=True)
    shards.mkdir(exist_ok=True)
    index.mkdir()
    np.save(work / PROBE, probe)
    np.save(index / PROBE, probe)
    rows = encoded.rows if encoded else np.empty(0, np.int64)
    known = map(encoded.corpus.passage, rows.tolist()) if encoded else ()
    checked = checked_passages(chain(known, passages))
    with LineWriter(index / CORPUS) as corpus:
        for passage in islice(checked, len(rows)):
            corpus.write(passage_line(passage))
        pieces = _encode(checked, corpus, shards, None if workers else _Writer(encoder, batch_size))
    if not (pieces or len(rows)):
        raise UsageError("there is nothing to index: the corpus has no passages")
    if workers:
        ends = np.cumsum([len(rows), *(size for _, size in pieces)]).tolist()
        missing = [
            (str(file), begin, end)
            for (file, _), (begin, end) in zip(pieces, pairwise(ends), strict=True)
            if not file.exists()
        ]
        arguments = encoder.encoder, encoder.device, str(index), batch_size
        do_tasks(workers, _Worker, arguments, missing, progress=progress, stage="encoding")
    _join([file for file, _ in pieces], index / VECTORS, encoded)
    if approximate:
        _link(index)
    description = {"format": FORMAT, "approximate": approximate, "encoder": asdict(encoder.encoder)}
    write_description(index, DESCRIPTION, description)
    return index


class _Writer:
    """Encodes passages and writes their vectors to a file."""

    def __init__(self, encoder: LoadedEncoder, batch_size: int) -> None:
        self._encoder, self._batch_size = encoder, batch_size

    def __call__(self, passages: Sequence[Passage], file: Path) -> None:
        with replaced(file) as piece:
            np.save(piece, self._encoder.encode_passages(passages, self._batch_size))


class _Worker:
    """Does so in another process, with the passages of the index's corpus."""

    def __init__(self, encoder: Encoder, device: str | None, index: str, batch_size: int) -> None:
        self._write, self._corpus = _Writer(LoadedEncoder(encoder, device), batch_size), Corpus(Path(index))

    def __call__(self, task: tuple[str, int, int]) -> None:
        file, begin, end = task
        self._write([self._corpus.passage(row) for row in range(begin, end)], Path(file))


def _encode(
    passages: Iterator[Passage], corpus: LineWriter, shards: Path, write: _Writer | None
) -> list[tuple[Path, int]]:
    """Write the passages to the corpus, and one file of vectors per `_SHARD` of them, unless `write` is None.

    A file is named by the digest of its passages. One that is there already is left as it is.

    Returns:
        Each file, and how many passages it is for.
    """
    files = []
    while part := list(islice(passages, _SHARD)):
        written = [passage_line(passage) for passage in part]
        for line in written:
            corpus.write(line)
        file = shards / f"{hashlib.sha256(b''.join(written)).hexdigest()}.npy"
        if write and not file.exists():
            write(part, file)
        files.append((file, len(part)))
    return files


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
