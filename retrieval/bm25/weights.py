"""The two factors of a BM25 score, by bm25s's own formulas: how rare a token is, and how much a passage has of it."""

import math
from typing import Any

import numpy as np
from bm25s.scoring import _select_idf_scorer, _select_tfc_scorer
from numpy.typing import NDArray

from odqa.errors import UsageError

__all__ = ["METHOD", "check_weights", "rarity", "saturation"]

METHOD = "lucene"
"""The variant of BM25; bm25s's default."""


def rarity(frequencies: NDArray[np.int64], passages: int) -> NDArray[np.float32]:
    """The inverse document frequency (idf) of tokens, from how many of the passages have each."""
    score = _select_idf_scorer(METHOD)
    different, inverse = np.unique(frequencies, return_inverse=True)
    return np.array([score(int(n), N=passages) for n in different], np.float32)[inverse]


def saturation(
    counts: NDArray[np.float32], lengths: NDArray[np.int64], mean_length: float, k1: float, b: float
) -> NDArray[Any]:
    """The term frequency component of scores, from how often passages have a token, and their lengths in tokens."""
    found: NDArray[Any] = _select_tfc_scorer(METHOD)(counts, l_d=lengths, l_avg=mean_length, k1=k1, b=b)
    return found


def check_weights(k1: float, b: float) -> None:
    """Raise `UsageError` where one is out of range."""
    if not (0 <= k1 < math.inf and 0 <= b <= 1):
        raise UsageError(f"k1 must be a number from 0 up and b one from 0 to 1, not {k1} and {b}")
