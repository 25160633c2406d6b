"""The files of a ColBERT index that a search reads, memory-mapped."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odqa.errors import RetrievalError
from odqa.files import damage, undamaged
from retrieval.colbert.build import IVF
from retrieval.colbert.codec import REMEDY, Codec, load_lengths, load_tensors
from retrieval.colbert.libraries import torch

__all__ = ["Storage"]


class Storage:
    """What an index knows of its tokens.

    Attributes:
        codec: Makes vectors of centroids and residuals.
        codes, residuals: For each chunk the centroids of its tokens, and their residuals: tokens x bytes.
        lengths: Tokens of each passage.
        begins: The first token of each passage, counted within its chunk.
        ivf: The passages with a token at the first centroid in order, those at the second, and so on.
        cells: Where the passages of each centroid begin in `ivf`, and where the last ones end.

    Raises:
        RetrievalError: the index is damaged.
    """

    def __init__(self, path: Path, chunks: int, bits: int, device: torch.device) -> None:
        self.path = path
        with undamaged(path, REMEDY):
            self.codec = Codec.load_from(path, bits, device)
            self.codes = [load_tensors(path / f"{n}.codes.pt").numpy() for n in range(chunks)]
            self.residuals = [load_tensors(path / f"{n}.residuals.pt").numpy() for n in range(chunks)]
            lengths = [load_lengths(path, n) for n in range(chunks)]
            self._firsts = np.cumsum([0, *map(len, lengths)])  # first passage of each chunk
            self.begins = np.concatenate([np.cumsum(part) - part for part in lengths])
            self.lengths = np.concatenate(lengths)
            ivf, sizes = load_tensors(path / IVF)
            self.ivf: NDArray[Any] = ivf.numpy()
            self.cells = np.concatenate([[0], np.cumsum(sizes.numpy(), dtype=np.int64)])
            tokens = [int(part.sum()) for part in lengths]
            if (
                [codes.shape for codes in self.codes] != [(size,) for size in tokens]
                or [residuals.shape for residuals in self.residuals] != [(size, self.codec.packed) for size in tokens]
                or sizes.shape != (len(self.codec.centroids),)
                or any(codes.dtype.kind != "i" for codes in [*self.codes, self.ivf, self.cells])
                or any(residuals.dtype != np.uint8 for residuals in self.residuals)
                or self.ivf.ndim != 1
                or self.cells[-1] > len(self.ivf)  # colbert-ai pads it
                or not 0 <= sizes.min() <= sizes.max() <= len(self.ivf)
                or not 0 <= self.lengths.min() <= self.lengths.max() <= max(tokens)
            ):
                raise ValueError("its files do not fit together")

    def __len__(self) -> int:
        return len(self.lengths)

    def by_chunk(self, rows: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
        """The chunks that hold some of the rows, which are in order, and which of the rows these are."""
        ends = np.searchsorted(rows, self._firsts).tolist()
        for chunk, (begin, end) in enumerate(pairwise(ends)):
            if begin < end:
                yield chunk, slice(begin, end)

    def damage(self, what: str) -> RetrievalError:
        """The error to raise when a search comes by what cannot be."""
        return damage(self.path, f"it has {what}", REMEDY)
