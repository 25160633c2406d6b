"""The steps of a ColBERT search: passages that are candidates, and the scores of those.

The loops of `retrieval.colbert.kernels` take them, side by side for the queries of a batch.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from retrieval.candidates import Candidates, chosen
from retrieval.colbert import kernels
from retrieval.colbert.libraries import torch
from retrieval.colbert.storage import Storage

__all__ = ["Pruning", "Scorer"]

_COSINES = 2**26  # of tokens and centroids in memory at a time

_T = TypeVar("_T")


class Pruning(NamedTuple):
    """What a search looks at; see `retrieval.colbert.ColBERT`."""

    ncells: int
    threshold: float | None
    ndocs: int


class Scorer:
    """Finds the passages of an index with the highest MaxSim scores.

    Raises:
        RetrievalError: (in all that searches) the index is damaged.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._threads = ThreadPoolExecutor(torch.get_num_threads(), "colbert")
        self._centroids, self._numbers = storage.codec.centroids.numpy(), storage.codec.numbers.numpy()

    def search(
        self, queries: Sequence[NDArray[np.float32]], pruning: Pruning | None, k: int
    ) -> list[list[tuple[int, float]]]:
        """The rows of the `k` best passages for each query, the best first, and their scores. A query is the vectors
        of its tokens, tokens x numbers; without pruning all passages are scored."""
        if pruning is None:
            return self.rank([(query, np.arange(len(self._storage))) for query in queries], k)
        found = self.candidates(queries, pruning)
        return self.rank([(query, chosen([part])[0]) for query, part in zip(queries, found, strict=True)], k)

    def candidates(self, queries: Sequence[NDArray[np.float32]], pruning: Pruning) -> list[Candidates]:
        """The first two steps of a search for each query: what they know, before any is left out by the second."""
        found: list[Candidates] = []
        together = max(1, _COSINES // (len(self._centroids) * max(map(len, queries))))
        for begin in range(0, len(queries), together):
            some = queries[begin : begin + together]
            firsts = np.cumsum([0, *map(len, some)])[:-1].tolist()
            find = partial(self._find, nearness=self._storage.codec.nearness(np.concatenate(some)), pruning=pruning)
            found += self._side_by_side(find, some, firsts)
        return found

    def rank(
        self, asked: Sequence[tuple[NDArray[np.float32], NDArray[np.int64]]], k: int
    ) -> list[list[tuple[int, float]]]:
        """The last step of a search for each query: the `k` best passages of those in some rows, which are in order."""
        return self._side_by_side(partial(self._best, k=k), *zip(*asked, strict=True))

    def _side_by_side(self, work: Callable[..., _T], *of_queries: Sequence[Any]) -> list[_T]:
        return list((self._threads.map if len(of_queries[0]) > 1 else map)(work, *of_queries))

    def _find(
        self, query: NDArray[np.float32], first: int, *, nearness: NDArray[np.float32], pruning: Pruning
    ) -> Candidates:
        """The candidates for a query, whose first token has this place among those of several queries."""
        storage, tokens = self._storage, len(query)
        cells, near = kernels.nearest_centroids(nearness, first, tokens, min(pruning.ncells, len(nearness)))
        probed = near >= (-np.inf if pruning.threshold is None else pruning.threshold)
        gains, cells = (near - near[:, -1:])[probed], cells[probed]
        begins, ends = storage.cells[cells], storage.cells[cells + 1]
        rows, votes = kernels.best_candidates(
            storage.ivf, begins, ends, np.nonzero(probed)[0], gains, len(storage), pruning.ndocs
        )
        order = np.argsort(rows)
        rows, votes = rows[order], votes[order]
        ranks = np.empty(len(rows), np.float32)
        for chunk, some in storage.by_chunk(rows):
            places = storage.begins[rows[some]], storage.lengths[rows[some]]
            self._check(
                kernels.maxsim_of_centroids(storage.codes[chunk], *places, nearness, first, ranks[some], tokens)
            )
        return Candidates(query, rows, votes, ranks, pruning.ndocs)

    def _best(self, query: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> list[tuple[int, float]]:
        storage, scores = self._storage, np.empty(len(rows), np.float32)
        for chunk, some in storage.by_chunk(rows):
            places = storage.begins[rows[some]], storage.lengths[rows[some]]
            tokens = storage.codes[chunk], storage.residuals[chunk]
            self._check(kernels.maxsim(*tokens, *places, self._centroids, self._numbers, query, scores[some]))
        if not np.isfinite(scores).all():
            raise storage.damage("values that are no numbers")
        best = np.lexsort((rows, -scores))[:k]
        return list(zip(rows[best].tolist(), scores[best].tolist(), strict=True))

    def _check(self, whole: bool) -> None:
        if not whole:
            raise self._storage.damage("codes of no centroid")
