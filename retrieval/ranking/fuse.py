"""Fusing several rankings into one: reciprocal rank fusion, score interpolation, and a retriever that fuses."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum
from statistics import fmean, pstdev
from typing import Literal

from odqa.errors import UsageError
from retrieval.base import BatchRetriever, Retriever
from retrieval.passage import Passage, union

__all__ = ["Fused", "interpolate", "reciprocal_rank_fusion"]


def reciprocal_rank_fusion(
    lists: Sequence[Sequence[Passage]], constant: float = 60, weights: Sequence[float] | None = None
) -> list[Passage]:
    """Fuse rankings by ranks alone: a passage scores the sum of weight / (constant + rank) over the lists it is in.

    Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
    SIGIR 2009.

    Args:
        lists: Rankings, best passage first, each id at most once in a list; scores do not matter.
        constant: At least 0; the smaller it is, the more the first ranks count. Ranks begin at 1.
        weights: One per list, not negative; by default all are 1.

    Returns:
        Every passage once, the copy of the first list that has it, with the fused score, best first. Equal scores keep
        the order of appearance.

    Raises:
        UsageError: the constant is negative, or the weights do not fit the lists.
    """
    if constant < 0:
        raise UsageError(f"the constant of reciprocal rank fusion must be at least 0, not {constant}")
    shares = [[1 / (constant + rank) for rank in range(1, len(passages) + 1)] for passages in lists]
    return _sum(lists, shares, [0.0] * len(lists), weights)


def interpolate(
    lists: Sequence[Sequence[Passage]],
    weights: Sequence[float] | None = None,
    normalize: Literal["minmax", "zscore"] = "minmax",
) -> list[Passage]:
    """Fuse rankings by scores: a passage scores the weighted sum of its normalized scores.

    Args:
        lists: Rankings with scores, best passage first, each id at most once in a list.
        weights: One per list, not negative; by default all are 1.
        normalize: What is done to the scores of each list: "minmax" brings them to 0 … 1, "zscore" to a mean of 0 and
            a standard deviation of 1. Scores that are all equal become 1 and 0. A passage that a list lacks has that
            list's lowest normalized score, or 0 where that is less.

    Returns:
        As `reciprocal_rank_fusion`.

    Raises:
        UsageError: a passage has no score, or the weights do not fit the lists.
    """
    shares = [_normalized(passages, normalize) for passages in lists]
    return _sum(lists, shares, [min([0.0, *share]) for share in shares], weights)


class Fused(BatchRetriever):
    """Asks several retrievers and fuses their rankings into one.

    Callbacks see one search, however many retrievers are asked.

    Args:
        retrievers: At least one. They should search the same corpus, because equal ids mean the same passage.
        fuse: Makes one ranking out of one per retriever: `reciprocal_rank_fusion`, `interpolate`, or a
            `functools.partial` of them with other settings.
        depth: How many passages each retriever is asked for; `k` if that is more.

    Raises:
        UsageError: there is no retriever, or the depth is below 1.
    """

    def __init__(
        self,
        retrievers: Sequence[Retriever],
        *,
        fuse: Callable[[Sequence[Sequence[Passage]]], list[Passage]] = reciprocal_rank_fusion,
        depth: int = 100,
    ) -> None:
        if not retrievers or depth < 1:
            raise UsageError(f"fusion needs a retriever and a depth of 1, not {len(retrievers)} and {depth}")
        self._retrievers = list(retrievers)
        self.asks_lm = any(retriever.asks_lm for retriever in retrievers)
        self._fuse = fuse
        self._depth = depth

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        # The retrievers are not called as objects: callbacks count calls, and this is one search per query.
        found = [retriever.search_batch(queries, max(k, self._depth)) for retriever in self._retrievers]
        return [self._fuse(lists)[:k] for lists in zip(*found, strict=True)]


def _normalized(passages: Sequence[Passage], normalize: Literal["minmax", "zscore"]) -> list[float]:
    scores = [passage.score for passage in passages if passage.score is not None]
    if len(scores) < len(passages):
        raise UsageError("score interpolation needs a score on every passage; reciprocal rank fusion goes without")
    if not scores:
        return []
    if normalize == "minmax":
        low, high = min(scores), max(scores)
        return [(score - low) / (high - low) if high > low else 1.0 for score in scores]
    mean, deviation = fmean(scores), pstdev(scores)
    return [(score - mean) / deviation if deviation else 0.0 for score in scores]


def _sum(
    lists: Sequence[Sequence[Passage]],
    shares: Sequence[Sequence[float]],
    missing: Sequence[float],
    weights: Sequence[float] | None,
) -> list[Passage]:
    """All passages with the weighted sums of their shares, best first; `missing` is each list's share for the rest."""
    weights = [1.0] * len(lists) if weights is None else weights
    if len(weights) != len(lists) or any(weight < 0 for weight in weights):
        raise UsageError(f"fusion needs one weight of at least 0 for each of its {len(lists)} lists, not {weights}")
    tables = [dict(zip(passages, share, strict=True)) for passages, share in zip(lists, shares, strict=True)]
    terms = list(zip(tables, missing, weights, strict=True))
    # fsum: sums of the same numbers are equal whatever the order of adding, and so such passages keep their order
    totals = {p: fsum(weight * table.get(p, absent) for table, absent, weight in terms) for p in union(*lists)}
    return [replace(p, score=totals[p]) for p in sorted(totals, key=totals.__getitem__, reverse=True)]
