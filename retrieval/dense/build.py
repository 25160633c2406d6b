"""Building a dense index: encoding passages in pieces that a later build can use again, and joining the pieces."""

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import numpy as np

from retrieval.dense.encoder import LoadedEncoder, same_probe
from retrieval.errors import UsageError
from retrieval.files import replaced
from retrieval.indexes import CORPUS, LineWriter, checked_passages, passage_line, write_description
from retrieval.models import import_package
from retrieval.passage import Passage

__all__ = ["DESCRIPTION", "FORMAT", "GRAPH", "PROBE", "VECTORS", "write_index"]

DESCRIPTION = "dense.json"
FORMAT = 1
VECTORS = "vectors.npy"
GRAPH = "vectors.faiss"
PROBE = "probe.npy"
_SHARD = 1024  # passages in a piece, which is encoded anew when the build was interrupted within it
_LINKS = 32  # of a vector in the graph, to each side
_BUILD_CANDIDATES = 200  # looked at for the links of a vector
_BLOCK = 1 << 16  # vectors put into the graph at a time


def write_index(
    passages: Iterable[Passage],
    work: Path,
    encoder: LoadedEncoder,
    *,
    approximate: bool,
    batch_size: int,
    resume: bool,
) -> Path:
    """Write an index, using what an unfinished build left behind.

    Args:
        passages: See `retrieval.dense.Dense.build`; likewise the settings.
        work: The working directory of the build. Pieces that are encoded stay there.
        encoder: Encodes the passages.

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
    files = _encode(checked_passages(passages), index / CORPUS, shards, encoder, batch_size)
    _join(files, index / VECTORS)
    if approximate:
        _link(index)
    description = {"format": FORMAT, "approximate": approximate, "encoder": asdict(encoder.encoder)}
    write_description(index, DESCRIPTION, description)
    return index


def _encode(
    passages: Iterator[Passage], corpus: Path, shards: Path, encoder: LoadedEncoder, batch_size: int
) -> list[Path]:
    """Write the corpus, and one file of vectors per `_SHARD` passages; a file is named by the digest of its passages.

    A file that is there already is left as it is.
    """
    files = []
    with LineWriter(corpus) as lines:
        while part := list(islice(passages, _SHARD)):
            written = [passage_line(passage) for passage in part]
            for line in written:
                lines.write(line)
            file = shards / f"{hashlib.sha256(b''.join(written)).hexdigest()}.npy"
            if not file.exists():
                with replaced(file) as shard:
                    np.save(shard, encoder.encode_passages(part, batch_size))
            files.append(file)
    if not files:
        raise UsageError("there is nothing to index: the corpus has no passages")
    return files


def _join(files: Sequence[Path], out: Path) -> None:
    shapes = [np.load(file, mmap_mode="r").shape for file in files]
    size = sum(rows for rows, _ in shapes)
    vectors = np.lib.format.open_memmap(out, "w+", np.dtype(np.float32), (size, shapes[0][1]))
    row = 0
    for file, (rows, _) in zip(files, shapes, strict=True):
        vectors[row : row + rows] = np.load(file)
        row += rows


def _link(index: Path) -> None:
    """Turn the vectors of an exact index into a graph."""
    faiss = import_package("faiss")
    vectors = np.load(index / VECTORS, mmap_mode="r")
    graph = faiss.IndexHNSWFlat(vectors.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = _BUILD_CANDIDATES
    for begin in range(0, len(vectors), _BLOCK):
        graph.add(vectors[begin : begin + _BLOCK])
    faiss.write_index(graph, str(index / GRAPH))
    (index / VECTORS).unlink()
