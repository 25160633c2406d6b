"""The steps of a ColBERT search: passages that are candidates, and the scores of those.

`Scorer` takes the steps with torch, on any device. `CompiledScorer` takes the same ones on the CPU with the loops of
`retrieval.colbert.kernels`, many times as fast.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.candidates import Candidates, chosen
from retrieval.colbert.libraries import torch
from retrieval.colbert.storage import CODES, Storage

__all__ = ["CompiledScorer", "Pruning", "Scorer", "best_scorer"]

_COSINES = 2**26  # of tokens and centroids in memory at a time
_PART = 2048  # passages whose vectors are in memory at a time


@dataclass(frozen=True)
class Pruning:
    """What a search looks at; see `retrieval.colbert.ColBERT`."""

    ncells: int
    threshold: float | None
    ndocs: int


class Scorer:
    """Finds the passages of an index with the highest MaxSim scores, with torch.

    Args:
        storage: The files of the index.

    Raises:
        RetrievalError: (in all that searches) the index is damaged.
    """

    _map: Callable[..., Iterable[Any]] = map

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def search(self, queries: Sequence[torch.Tensor], pruning: Pruning | None, k: int) -> list[list[tuple[int, float]]]:
        """The rows of the `k` best passages for each query, the best first, and their scores.

        Args:
            queries: The vectors of the tokens of each.
            pruning: What is looked at; by default all passages.
            k: How many passages at most.
        """
        if pruning is None:
            return self.rank([(query, np.arange(len(self._storage))) for query in queries], k)
        found = self.candidates(queries, pruning)
        return self.rank([(query, chosen([part])[0]) for query, part in zip(queries, found, strict=True)], k)

    def candidates(self, queries: Sequence[torch.Tensor], pruning: Pruning) -> list[Candidates]:
        """The first two steps of a search for each query: what they know, before any is left out by the second."""
        found: list[Candidates] = []
        cosines = len(self._storage.codec.centroids) * max(map(len, queries))
        together = max(1, _COSINES // cosines)
        for begin in range(0, len(queries), together):
            some = queries[begin : begin + together]
            firsts = np.cumsum([0, *map(len, some)])[:-1].tolist()
            find = partial(self.find, nearness=self.nearness(torch.cat(list(some))), pruning=pruning)
            found += (self._map if len(some) > 1 else map)(find, some, firsts)
        return found

    def rank(self, asked: Sequence[tuple[torch.Tensor, NDArray[np.int64]]], k: int) -> list[list[tuple[int, float]]]:
        """The last step of a search for each query: the `k` best passages of those in some rows, which are in order."""
        return list((self._map if len(asked) > 1 else map)(partial(self._best, k=k), *zip(*asked, strict=True)))

    def nearness(self, queries: torch.Tensor) -> torch.Tensor:
        """Cosine of each centroid and each token of some queries: centroids x tokens."""
        with torch.inference_mode():
            return self._storage.codec.on_device @ queries.T

    def find(self, query: torch.Tensor, first: int, *, nearness: torch.Tensor, pruning: Pruning) -> Candidates:
        """The candidates for a query.

        Args:
            query: The vectors of the query's tokens.
            first: Its first token among those of several queries.
            nearness: The cosines of the centroids and these tokens.
            pruning: What is looked at.
        """
        with torch.inference_mode():
            rows, votes = self._candidates(*self._probe(nearness, first, len(query), pruning), pruning.ndocs)
            order = np.argsort(rows)
            rows, votes = rows[order], votes[order]
            ranks = self._centroid_scores(rows, nearness, first, len(query)) if len(rows) else votes
        return Candidates(query.cpu().numpy(), rows, votes, ranks, pruning.ndocs)

    def _best(self, query: torch.Tensor, rows: NDArray[np.int64], k: int) -> list[tuple[int, float]]:
        with torch.inference_mode():
            scores = self._scores(rows, query)
        if not np.isfinite(scores).all():
            raise self._storage.damage("values that are no numbers")
        best = np.lexsort((rows, -scores))[:k]
        return list(zip(rows[best].tolist(), scores[best].tolist(), strict=True))

    def _probe(
        self, nearness: torch.Tensor, first: int, tokens: int, pruning: Pruning
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The centroids near each token of the query, what token that is, and what its passages gain by it."""
        cells, near = self._nearest(nearness, first, tokens, min(pruning.ncells, len(nearness)))
        gains = near - near[:, -1:]
        probed = near >= (-np.inf if pruning.threshold is None else pruning.threshold)
        return cells[probed], np.nonzero(probed)[0], gains[probed]

    def _nearest(
        self, nearness: torch.Tensor, first: int, tokens: int, count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        found = nearness[:, first : first + tokens].T.contiguous().topk(count)
        return found.indices.cpu().numpy(), found.values.cpu().numpy()

    def _candidates(
        self, cells: NDArray[np.int64], tokens: NDArray[np.int64], gains: NDArray[np.float32], limit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The rows of the passages that gain most, at most so many, in no order; and what they gain."""
        storage = self._storage
        begins, ends = storage.cells[cells], storage.cells[cells + 1]
        if not (ends - begins).sum():
            return np.empty(0, np.int64), np.empty(0, np.float32)
        spans = zip(begins.tolist(), ends.tolist(), strict=True)
        found = np.concatenate([storage.ivf[begin:end] for begin, end in spans]).astype(np.int64)
        if not 0 <= found.min() <= found.max() < len(storage):
            raise storage.damage("lists of passages that are not there")
        count = int(tokens.max()) + 1
        keys = torch.from_numpy(found * count + np.repeat(tokens, ends - begins)).to(storage.codec.device)
        each = torch.from_numpy(np.repeat(gains, ends - begins)).to(storage.codec.device)
        pairs, inverse = keys.unique(return_inverse=True)
        most = torch.zeros(len(pairs), device=each.device).scatter_reduce(0, inverse, each, "amax")
        rows, inverse = (pairs // count).unique_consecutive(return_inverse=True)
        sums = torch.zeros(len(rows), device=each.device).index_add(0, inverse, most)
        best = sums.sort(descending=True, stable=True).indices[:limit]  # topk takes any of equal ones
        return rows[best].cpu().numpy(), sums[best].cpu().numpy()

    def _centroid_scores(
        self, rows: NDArray[np.int64], nearness: torch.Tensor, first: int, tokens: int
    ) -> NDArray[np.float32]:
        """MaxSim when centroids stand for tokens."""
        codes = torch.from_numpy(self._storage.codes_of(rows)).to(nearness.device)
        near = nearness[:, first : first + tokens].index_select(0, codes)
        return maxsim(near, self._storage.lengths[rows])

    def _scores(self, rows: NDArray[np.int64], query: torch.Tensor) -> NDArray[np.float32]:
        """MaxSim."""
        storage, found = self._storage, [np.empty(0, np.float32)]
        for some in (rows[begin : begin + _PART] for begin in range(0, len(rows), _PART)):
            codes, residuals = storage.codes_of(some), storage.residuals_of(some)
            found.append(maxsim(storage.codec.vectors(codes, residuals) @ query.T, storage.lengths[some]))
        return np.concatenate(found)


class CompiledScorer(Scorer):
    """Does what `Scorer` does, on the CPU, with compiled loops that run side by side for the queries of a batch."""

    def __init__(self, storage: Storage) -> None:
        from retrieval.colbert import kernels

        super().__init__(storage)
        self._kernels = kernels
        self._map = ThreadPoolExecutor(torch.get_num_threads(), "colbert").map
        self._centroids, self._numbers = storage.codec.on_device.numpy(), storage.codec.numbers.numpy()

    def _nearest(
        self, nearness: torch.Tensor, first: int, tokens: int, count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        found: tuple[Any, Any] = self._kernels.nearest_centroids(nearness.numpy(), first, tokens, count)
        return found

    def _candidates(
        self, cells: NDArray[np.int64], tokens: NDArray[np.int64], gains: NDArray[np.float32], limit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        storage = self._storage
        begins, ends = storage.cells[cells], storage.cells[cells + 1]
        found: tuple[Any, Any] = self._kernels.best_candidates(
            storage.ivf, begins, ends, tokens, gains, len(storage), limit
        )
        return found

    def _centroid_scores(
        self, rows: NDArray[np.int64], nearness: torch.Tensor, first: int, tokens: int
    ) -> NDArray[np.float32]:
        near, storage = nearness.numpy(), self._storage
        return self._by_chunk(
            rows,
            lambda chunk, begins, lengths, scores: self._kernels.maxsim_of_centroids(
                storage.codes[chunk], begins, lengths, near, first, scores, tokens
            ),
        )

    def _scores(self, rows: NDArray[np.int64], query: torch.Tensor) -> NDArray[np.float32]:
        asked, storage = query.contiguous().numpy(), self._storage
        return self._by_chunk(
            rows,
            lambda chunk, begins, lengths, scores: self._kernels.maxsim(
                storage.codes[chunk],
                storage.residuals[chunk],
                begins,
                lengths,
                self._centroids,
                self._numbers,
                asked,
                scores,
            ),
        )

    def _by_chunk(self, rows: NDArray[np.int64], fill: Callable[..., bool]) -> NDArray[np.float32]:
        """The scores of passages, which `fill` fills in chunk by chunk."""
        scores = np.empty(len(rows), np.float32)
        begins, lengths = self._storage.begins[rows], self._storage.lengths[rows]
        for chunk, some in self._storage.by_chunk(rows):
            if not fill(chunk, begins[some], lengths[some], scores[some]):
                raise self._storage.damage(CODES)
        return scores


def best_scorer(storage: Storage) -> Scorer:
    """The fastest scorer that there is for an index: compiled loops where numba is installed, on the CPU."""
    compiled = storage.codec.device.type == "cpu" and find_spec("numba") is not None
    return CompiledScorer(storage) if compiled else Scorer(storage)


def maxsim(scores: torch.Tensor, lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """For each passage the sum over the query's tokens of the best score among the passage's.

    Args:
        scores: Tokens of all passages, one passage after the other, x tokens of the query.
        lengths: Tokens per passage. A passage that has none is below all others.
    """
    counts = torch.from_numpy(lengths).to(scores.device)
    best = torch.segment_reduce(scores, "max", lengths=counts, axis=0, initial=-9999.0).sum(1)
    found: NDArray[np.float32] = best.cpu().numpy()
    return found
