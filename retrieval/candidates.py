"""What a search by stages knows of passages before it scores them, so that parts of an index can choose together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["Candidates", "best_places", "chosen"]


@dataclass(frozen=True)
class Candidates:
    """The candidates that an index, or a part of one, has for a query.

    Attributes:
        query: The vectors of the query's tokens: tokens x numbers.
        rows: The candidates: at most `limit` rows of the index, in order.
        votes: The scores by which they became candidates: no other passage of the index has a higher one.
        ranks: The scores by which a quarter of `limit` is chosen.
        limit: How many candidates a search has.
    """

    query: NDArray[np.float32]
    rows: NDArray[np.int64]
    votes: NDArray[np.float32]
    ranks: NDArray[np.float32]
    limit: int


def chosen(parts: Sequence[Candidates]) -> list[NDArray[np.int64]]:
    """The rows of each part, in order, that the whole index would score.

    Args:
        parts: For one query, from all parts of the index in the order of the whole.
    """
    places = best_places(np.concatenate([part.votes for part in parts]), parts[0].limit)
    ranks = np.concatenate([part.ranks for part in parts])[places]
    places = places[best_places(ranks, parts[0].limit // 4)]
    ends = np.cumsum([0, *(len(part.rows) for part in parts)])
    bounds = np.searchsorted(places, ends).tolist()
    return [
        part.rows[places[begin:end] - first]
        for part, first, (begin, end) in zip(parts, ends.tolist(), pairwise(bounds), strict=False)
    ]


def best_places(scores: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """Where the highest scores stand, in order; of equal ones those that come first."""
    found: NDArray[np.int64] = np.sort(np.argsort(-scores, kind="stable")[:limit])
    return found
