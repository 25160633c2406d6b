"""Bounds on the scores of whole windows of passages, which let a search pass over most of them.

A window is 32 neighbouring passages. For each column that has a score in at least one passage of 128 (the others are
short enough to be read whole) the index holds the highest score in each window, rounded up to a byte, and for every
eighth window which of the column's scores is the first in it.

    bounds.npy           columns by windows, uint8: in steps of `bound_step` in bm25.json; 0 where there is no score
    bounds.starts.npy    columns by every eighth window and one more, uint32: scores of the column before that window
    bounds.columns.npy   columns by 2, int32: which column, ascending, and its highest bound
"""

from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from odqa.files import damage
from retrieval.indexes import read_array

__all__ = ["Bounds", "BoundsWriter", "open_array"]

WINDOW_BITS = 5  # 32 passages
SPAN_BITS = 8  # 256 passages, from one of the starts to the next
DENSE = 128  # a column has bounds if it has a score in one of so many passages

_NAMES = "bounds.npy", "bounds.starts.npy", "bounds.columns.npy"


def open_array(path: Path, dtype: DTypeLike, *shape: int) -> BinaryIO:
    """A file that `np.load` reads as an array of this type and shape, once its items are written to it."""
    file = path.open("wb")
    described = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": tuple(map(int, shape))}
    np.lib.format.write_array_header_1_0(file, described)
    return file


class BoundsWriter:
    """Writes the bounds while the columns are scored. `frequencies` says in how many passages each column has a
    score, `idf` what no score of it exceeds."""

    def __init__(
        self, directory: Path, frequencies: NDArray[np.int64], idf: NDArray[np.float32], passages: int
    ) -> None:
        self._directory, self._passages, self._frequencies = directory, passages, frequencies
        self._columns = np.flatnonzero(frequencies * DENSE >= passages)
        self._tops: list[int] = []
        self.step = float((idf[self._columns] if len(self._columns) else idf).max()) / 254
        self._windows = _parts(passages, WINDOW_BITS)

    def __enter__(self) -> Self:
        count, spans = len(self._columns), _parts(self._passages, SPAN_BITS)
        self._bounds = open_array(self._directory / _NAMES[0], np.uint8, count, self._windows)
        self._starts = open_array(self._directory / _NAMES[1], np.uint32, count, spans + 1)
        self._borders = np.arange(spans + 1) << SPAN_BITS
        return self

    def __exit__(self, *_: object) -> None:
        self._bounds.close()
        self._starts.close()
        np.save(self._directory / _NAMES[2], np.stack([self._columns, self._tops], axis=1).astype(np.int32))

    def add(self, first: int, last: int, rows: NDArray[np.int32], scores: NDArray[np.float32]) -> None:
        """Write the bounds of the columns from `first` to before `last`, whose rows and scores these are, in order."""
        begin, ends = 0, np.cumsum(self._frequencies[first:last])
        for column in self._columns[slice(*np.searchsorted(self._columns, [first, last]))].tolist():
            end = int(ends[column - first])
            begin = end - int(self._frequencies[column])
            windows = rows[begin:end] >> WINDOW_BITS
            changes = np.flatnonzero(np.diff(windows, prepend=-1))
            highest = np.maximum.reduceat(scores[begin:end], changes).astype(np.float64)
            bounds = np.zeros(self._windows, np.uint8)
            bounds[windows[changes]] = np.ceil(highest / self.step)
            bounds.tofile(self._bounds)
            self._tops.append(int(bounds.max()))
            np.searchsorted(rows[begin:end], self._borders).astype(np.uint32).tofile(self._starts)


class Bounds:
    """The bounds of an index, memory-mapped; `step` is what a bound of 1 stands for.

    Raises:
        RetrievalError: a file is damaged.
    """

    def __init__(self, directory: Path, step: float, passages: int) -> None:
        self.step = step
        values, starts, columns = (directory / name for name in _NAMES)
        self.columns, self.tops = read_array(columns, np.int32, (None, 2)).T.copy()
        if (self.columns[1:] <= self.columns[:-1]).any():
            raise damage(columns, "its columns are not in order")
        count, windows, spans = len(self.columns), _parts(passages, WINDOW_BITS), _parts(passages, SPAN_BITS)
        self.values = read_array(values, np.uint8, (count, windows), mapped=True).view(np.ndarray)
        self.starts = read_array(starts, np.uint32, (count, spans + 1), mapped=True).view(np.ndarray)

    def fit(self, column: int, size: int) -> bool:
        """Whether no start of the column, if it has bounds, leads outside of its rows, of which there are `size`."""
        place = int(np.searchsorted(self.columns, column))
        if place == len(self.columns) or self.columns[place] != column:
            return True
        starts = self.starts[place]
        return bool(starts[-1] <= size and (starts[1:] >= starts[:-1]).all())


def _parts(passages: int, bits: int) -> int:
    return (passages - 1 >> bits) + 1
