"""Parts of a ColBERT index, with the centroids of the whole: their scores compare as they are."""

import json
import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from odqa.files import read_whole
from retrieval.colbert.build import (
    DESCRIPTION,
    IVF,
    METADATA,
    chunks_of,
    describe,
    save,
    write_chunk,
    write_metadata,
)
from retrieval.colbert.codec import load_lengths, load_tensors
from retrieval.colbert.libraries import torch
from retrieval.colbert.search import ColBERT
from retrieval.descriptions import write_description
from retrieval.indexes import Progress, store_passages

__all__ = ["split"]

_CODEC = "centroids.pt", "avg_residual.pt", "buckets.pt"


def split(index: ColBERT, parts: Sequence[range], directories: Sequence[Path], progress: Progress) -> None:
    """Write an index of each part of the rows into its directory, which must be empty. Nothing is encoded. `progress`
    goes through the chunks of all parts."""
    metadata = json.loads(read_whole(index.path / METADATA))
    lengths = [load_lengths(index.path, n) for n in range(metadata["num_chunks"])]
    ends = np.cumsum(np.concatenate(lengths))
    firsts = np.cumsum([0, *(part.sum() for part in lengths)])
    ivf, sizes = (tensor.numpy() for tensor in load_tensors(index.path / IVF))
    cells = np.repeat(np.arange(len(sizes)), sizes)
    chunks_of_parts = [chunks_of(rows) for rows in parts]
    all_chunks = iter(progress([chunk for chunks in chunks_of_parts for chunk in chunks], desc="splitting"))
    for rows, chunks, directory in zip(parts, chunks_of_parts, directories, strict=True):
        for name in _CODEC:
            shutil.copy(index.path / name, directory / name)
        for n, some in enumerate(islice(all_chunks, len(chunks))):
            begin, end = (int(ends[row - 1]) if row else 0 for row in (some.start, some.stop))
            codes, residuals = (
                torch.cat(list(_tokens(index.path, name, firsts, begin, end))) for name in ("codes", "residuals")
            )
            own = np.diff(ends[some.start : some.stop], prepend=begin).tolist()
            write_chunk(directory, n, some.start - rows.start, codes, residuals, own)
        inside = (ivf >= rows.start) & (ivf < rows.stop)
        found = torch.from_numpy((ivf[inside] - rows.start).astype(np.int32))
        save(directory / IVF, (found, torch.from_numpy(np.bincount(cells[inside], minlength=len(sizes)))))
        tokens = int(ends[rows.stop - 1]) - (int(ends[rows.start - 1]) if rows.start else 0)
        write_metadata(directory, metadata["config"], len(chunks), len(sizes), tokens, len(rows))
        digest = store_passages(directory, map(index.passage, rows))
        write_description(directory, DESCRIPTION, describe(metadata["config"], digest))
    next(all_chunks, None)  # or the progress would not see its end


def _tokens(index: Path, name: str, firsts: NDArray[np.int64], begin: int, end: int) -> Iterator[torch.Tensor]:
    """What the chunks of an index have for its tokens from `begin` to before `end`."""
    for n, (first, last) in enumerate(zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True)):
        if first < end and begin < last:
            yield load_tensors(index / f"{n}.{name}.pt")[max(begin - first, 0) : end - first]
