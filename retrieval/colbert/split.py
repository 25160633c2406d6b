"""Parts of a ColBERT index, with the centroids of the whole: their scores compare as they are."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.colbert.build import _CHUNK, DESCRIPTION, FORMAT, IVF, METADATA
from retrieval.colbert.codec import load_lengths, load_tensors
from retrieval.colbert.libraries import torch
from retrieval.colbert.search import ColBERT
from retrieval.indexes import CORPUS, LineWriter, passage_line, write_description

__all__ = ["split"]

_CODEC = "centroids.pt", "avg_residual.pt", "buckets.pt"


def split(index: ColBERT, parts: Sequence[range], directories: Sequence[Path]) -> None:
    """Write an index of each part of the rows into its directory, which must be empty. Nothing is encoded."""
    metadata = json.loads((index.path / METADATA).read_bytes())
    lengths = [load_lengths(index.path, n) for n in range(metadata["num_chunks"])]
    ends = np.cumsum(np.concatenate(lengths))
    firsts = np.cumsum([0, *(part.sum() for part in lengths)])
    ivf, sizes = (tensor.numpy() for tensor in load_tensors(index.path / IVF))
    cells = np.repeat(np.arange(len(sizes)), sizes)
    for rows, directory in zip(parts, directories, strict=True):
        for name in _CODEC:
            shutil.copy(index.path / name, directory / name)
        chunks = [rows[begin : begin + _CHUNK] for begin in range(0, len(rows), _CHUNK)]
        for n, some in enumerate(chunks):
            begin, end = (int(ends[row - 1]) if row else 0 for row in (some.start, some.stop))
            for name in ("codes", "residuals"):
                torch.save(torch.cat(list(_tokens(index.path, name, firsts, begin, end))), directory / f"{n}.{name}.pt")
            own = np.diff(ends[some.start : some.stop], prepend=begin).tolist()
            _write(directory / f"doclens.{n}.json", own)
            about = {"passage_offset": some.start - rows.start, "num_passages": len(some), "num_embeddings": sum(own)}
            _write(directory / f"{n}.metadata.json", about)
        inside = (ivf >= rows.start) & (ivf < rows.stop)
        found = torch.from_numpy((ivf[inside] - rows.start).astype(np.int32))
        torch.save((found, torch.from_numpy(np.bincount(cells[inside], minlength=len(sizes)))), directory / IVF)
        tokens = int(ends[rows.stop - 1]) - (int(ends[rows.start - 1]) if rows.start else 0)
        size = {"num_chunks": len(chunks), "num_embeddings": tokens, "avg_doclen": tokens / len(rows)}
        _write(directory / METADATA, metadata | size)
        digest = _store(index, rows, directory)
        write_description(
            directory,
            DESCRIPTION,
            {"format": FORMAT, "config": metadata["config"], "chunk": _CHUNK, "sha256": digest},
        )


def _tokens(index: Path, name: str, firsts: NDArray[np.int64], begin: int, end: int) -> Iterator[torch.Tensor]:
    """What the chunks of an index have for its tokens from `begin` to before `end`."""
    for n, (first, last) in enumerate(zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True)):
        if first < end and begin < last:
            yield load_tensors(index / f"{n}.{name}.pt")[max(begin - first, 0) : end - first]


def _store(index: ColBERT, rows: range, directory: Path) -> str:
    """Write the passages; returns their digest."""
    digest = hashlib.sha256()
    with LineWriter(directory / CORPUS) as lines:
        for row in rows:
            line = passage_line(index.passage(row))
            lines.write(line)
            digest.update(line)
    return digest.hexdigest()


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))
