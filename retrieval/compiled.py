"""Compiling loops with numba, and the heap of the best rows that they share."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["compiled", "push"]


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Have numba compile a function when it first runs, and keep the code for later processes. It holds no lock of
    Python's while it runs, and looks at no bounds of arrays."""
    try:
        return njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # numba has no place where it could keep what it compiled
        return njit(nogil=True, **options)(function)


@compiled
def _behind(score: float, row: int, other_score: float, other_row: int) -> bool:
    return score < other_score or (score == other_score and row > other_row)


@compiled
def push(best_scores: NDArray[np.float32], best: NDArray[np.int64], size: int, score: float, row: int) -> int:
    """Put a row on the heap of the best, whose worst is at the top; the heap's new size. Of rows with equal scores the
    first are better."""
    if size < len(best):
        place = size
        while place > 0 and _behind(score, row, best_scores[(place - 1) >> 1], best[(place - 1) >> 1]):
            best_scores[place], best[place] = best_scores[(place - 1) >> 1], best[(place - 1) >> 1]
            place = (place - 1) >> 1
        best_scores[place], best[place] = score, row
        return size + 1
    if not _behind(best_scores[0], best[0], score, row):
        return size
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _behind(best_scores[child + 1], best[child + 1], best_scores[child], best[child]):
            child += 1
        if not _behind(best_scores[child], best[child], score, row):
            break
        best_scores[place], best[place] = best_scores[child], best[child]
        place = child
    best_scores[place], best[place] = score, row
    return size
