"""Reranking: passages in the order of a scorer."""

from collections.abc import Sequence
from dataclasses import replace

from odqa.errors import UsageError
from retrieval.base import BatchRetriever, Retriever
from retrieval.passage import Passage
from retrieval.ranking.scorers import Scorer

__all__ = ["Reranked", "rerank"]


def rerank(query: str, passages: Sequence[Passage], scorer: Scorer) -> list[Passage]:
    """The passages with the scorer's scores, best first; equal scores keep their order."""
    scores = scorer.score(query, [f"{passage.title} {passage.text}".strip() for passage in passages])
    best_first = sorted(zip(scores, passages, strict=True), key=lambda pair: pair[0], reverse=True)
    return [replace(passage, score=score) for score, passage in best_first]


class Reranked(BatchRetriever):
    """Searches with one retriever and orders what it finds by a scorer.

    Args:
        retriever: Finds the candidates.
        scorer: Scores them.
        depth: How many candidates to score per query; `k` if that is more.
    """

    def __init__(self, retriever: Retriever, scorer: Scorer, *, depth: int = 50) -> None:
        if depth < 1:
            raise UsageError(f"depth is the number of candidates to rerank and must be at least 1, not {depth}")
        self._retriever = retriever
        self.asks_lm = retriever.asks_lm
        self._scorer = scorer
        self._depth = depth

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        # The retriever is not called as an object: callbacks count calls, and this is one search.
        found = self._retriever.search_batch(queries, max(k, self._depth))
        return [rerank(query, passages, self._scorer)[:k] for query, passages in zip(queries, found, strict=True)]
