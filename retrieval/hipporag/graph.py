"""The graph of HippoRAG 2: phrases and passages, the edges between them, and personalised PageRank over it.

The nodes are the phrases, then the passages. Edges have no direction, and those between the same two nodes add up:

relation   between subject and object of a triple: 2 for each passage that states one with these two
context    between a passage and each phrase of its triples: 1
synonym    between two phrases whose vectors are similar: twice their cosine; it takes the place of a relation
"""

import importlib
from collections.abc import Iterable, Sequence
from math import ceil, log
from typing import Any, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from odqa.extras import needing

__all__ = ["Facts", "Graph", "Synonyms", "Triple", "collect", "link", "normalised"]

Triple = tuple[str, str, str]

_PRECISION = 1e-10  # of the probabilities, all together
_SIGNS = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


class Facts(NamedTuple):
    """What the passages state."""

    phrases: list[str]
    """The subjects and objects, each once."""
    triples: list[Triple]
    """The triples, each once."""
    ends: NDArray[np.int32]
    """Per triple the numbers of the phrases that are its subject and its object."""
    stated: NDArray[np.int32]
    """Subject and object likewise, once for each passage that states the triple."""
    mentions: NDArray[np.int32]
    """Row of a passage and number of a phrase of its triples, each pair once."""


class Synonyms(NamedTuple):
    """Pairs of phrases that say nearly the same: each found by looking for the neighbours of the first."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    cosine: NDArray[np.float64]


def normalised(text: str) -> str:
    """The text in lower case, with single blanks for whatever is neither letter nor digit."""
    return str(_SIGNS.sub(" ", text.lower())).strip()


def collect(stated: Iterable[Iterable[Sequence[str]]]) -> Facts:
    """Number the phrases and the triples of all passages.

    Args:
        stated: Per passage the triples as the LM wrote them. They are normalised; one that loses a part so is left out,
            and the same triple counts once in a passage.
    """
    phrases: dict[str, int] = {}
    triples: dict[Triple, tuple[int, int]] = {}
    ends: list[tuple[int, int]] = []
    mentions: list[tuple[int, int]] = []
    for row, written in enumerate(stated):
        own = dict.fromkeys((normalised(s), normalised(r), normalised(o)) for s, r, o in written)
        named: dict[int, None] = {}
        for triple in own:
            if all(triple):
                subject, object = (phrases.setdefault(triple[n], len(phrases)) for n in (0, 2))
                pair = subject, object
                triples[triple] = pair
                ends.append(pair)
                named |= dict.fromkeys(pair)
        mentions += [(row, phrase) for phrase in named]
    return Facts(list(phrases), list(triples), _pairs(triples.values()), _pairs(ends), _pairs(mentions))


def link(facts: Facts, passages: int, synonyms: Synonyms) -> "Graph":
    """Make the graph of so many passages.

    Raises:
        UsageError: the extra `hipporag` is not installed.
    """
    sparse = _scipy_sparse()
    size = len(facts.phrases)
    subjects, objects = facts.stated[facts.stated[:, 0] != facts.stated[:, 1]].T
    both = np.concatenate([subjects, objects]), np.concatenate([objects, subjects])
    relations = sparse.csr_array((np.ones(len(both[0])), both), (size, size))
    similar = sparse.csr_array((synonyms.cosine, (synonyms.first, synonyms.second)), (size, size))
    directed = relations - relations * (similar != 0) + similar
    rows, named = facts.mentions.T
    context = sparse.csr_array((np.ones(len(rows)), (rows, named)), (passages, size))
    weights = sparse.csr_array(sparse.block_array([[directed + directed.T, context.T], [context, None]]))
    weights.eliminate_zeros()
    weights.sort_indices()
    return Graph(weights, np.bincount(named, minlength=size))


class Graph:
    """The graph as a search uses it: the sum of the edges between any two nodes, a symmetric sparse array, and per
    phrase the number of passages that have it in a triple."""

    def __init__(self, weights: Any, holders: NDArray[np.int64]) -> None:
        self.weights = weights
        self.holders = holders
        strength = np.asarray(weights.sum(axis=1))
        self._alone = strength == 0
        self._share = np.divide(1, strength, out=np.zeros_like(strength), where=~self._alone)

    def __len__(self) -> int:
        """How many nodes it has."""
        return len(self._alone)

    @classmethod
    def of_arrays(cls, arrays: Any) -> "Graph":
        """The graph that `arrays` gave.

        Raises:
            UsageError: the extra `hipporag` is not installed.
            KeyError, ValueError: it is none.
        """
        parts, holders = (arrays["data"], arrays["indices"], arrays["indptr"]), arrays["holders"]
        size = len(parts[2]) - 1
        weights = _scipy_sparse().csr_array(parts, (size, size))
        weights.check_format(full_check=True)  # else a search would read memory of others
        if not (weights.dtype == np.float64 and np.isfinite(weights.data).all() and (weights.data > 0).all()):
            raise ValueError("weights are numbers above 0")
        if not (holders.dtype == np.int64 and holders.ndim == 1 and (holders > 0).all()):
            raise ValueError("each phrase is in a passage")
        return cls(weights, holders)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that the graph is made of, for `numpy.savez`."""
        weights = self.weights
        return {
            "data": weights.data,
            "indices": weights.indices,
            "indptr": weights.indptr,
            "holders": self.holders,
        }

    def pagerank(self, reset: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
        """The probability of each node for a walker who begins at a node drawn from `reset`, goes on along an edge
        with the probability `damping`, by its weight, and else begins anew; so does who stands at a node without edges.

        Haveliwala, "Topic-sensitive PageRank", WWW 2002; by power iteration, to `_PRECISION`. No weight of `reset` is
        below 0, and one is above.
        """
        begin = reset / reset.sum()
        found: NDArray[np.float64] = begin
        for _ in range(ceil(log(_PRECISION / 2) / log(damping))):  # each step brings it nearer by the damping
            stuck = found[self._alone].sum()
            found = damping * (self.weights @ (found * self._share)) + (1 - damping + damping * stuck) * begin
        return found


def _pairs(pairs: Iterable[Sequence[int]]) -> NDArray[np.int32]:
    return np.array(list(pairs), np.int32).reshape(-1, 2)


def _scipy_sparse() -> Any:
    with needing("hipporag"):
        return importlib.import_module("scipy.sparse")
