"""What the compiled search of BM25 is made of: its arrays by name, and looking for a row."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from retrieval.compiled import compiled, push

__all__ = [
    "Bounds",
    "Bytes",
    "Columns",
    "Floats",
    "Ints",
    "Matrix",
    "Sizes",
    "Sums",
    "first_from",
    "gallop",
    "inlined",
    "push_all",
]

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
Starts: TypeAlias = NDArray[np.uint32]
Floats: TypeAlias = NDArray[np.float32]


class Matrix(NamedTuple):
    """The scores of all passages, column by column: a compressed sparse matrix."""

    indptr: Ints
    rows: Ints
    scores: Floats


class Bounds(NamedTuple):
    """Bounds on the scores of windows of rows: see `retrieval.bm25.bounds`."""

    columns: Ints
    tops: Ints
    values: Bytes
    starts: Starts
    step: float


class Sizes(NamedTuple):
    """How many passages there are; and rows of a window, from one of the starts to the next, and of a block, as powers
    of two, ascending."""

    passages: int
    window: int
    span: int
    block: int


class Columns(NamedTuple):
    """The columns of a query, each once."""

    of_word: Ints
    """For each word of the query, which of them it is."""
    begins: Ints
    ends: Ints
    """Where the scores of each begin and end in the matrix."""
    times: Ints
    """How often the query has each."""
    bounded: Ints
    """Where its bounds are, or -1."""


class Sums(NamedTuple):
    """What is known of the block of rows at hand."""

    summed: Floats
    """For each row, the sum of the columns that are not put aside."""
    places: Ints
    after: Ints
    """Where the scores of each column begin and end that are in the block."""
    row: Floats
    """For one row, its score in each column."""


inlined = njit(nogil=True, inline="always")  # for what runs for each row: its many arguments cost more than its work


@compiled
def first_from(rows: Ints, begin: int, end: int, row: int) -> int:
    """The first place from `begin` to before `end` whose row is at least `row`, or `end`."""
    while begin < end:
        middle = (begin + end) >> 1
        if rows[middle] < row:
            begin = middle + 1
        else:
            end = middle
    return begin


@compiled
def gallop(rows: Ints, begin: int, end: int, row: int) -> int:
    """`first_from`, quick when the place is near `begin`."""
    step = 1
    while begin < end and rows[begin] < row:
        if begin + step >= end or rows[begin + step] >= row:
            return int(first_from(rows, begin + 1, min(begin + step, end), row))
        begin += step
        step <<= 1
    return begin


@compiled
def push_all(best_scores: Floats, best: Ints, size: int, totals: Floats, first: int) -> int:
    """`push` neighbouring rows with scores above 0, of which the first is `first`; the heap's new size."""
    least = best_scores[0] if size == len(best) else np.float32(0)  # rows ascend: one with no more is behind the worst
    for offset in range(len(totals)):
        if totals[offset] > least:
            size = push(best_scores, best, size, totals[offset], first + offset)
            least = best_scores[0] if size == len(best) else least
    return size
