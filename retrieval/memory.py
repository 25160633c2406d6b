"""A retriever over a table of passages: the public test double."""

from collections.abc import Iterable, Mapping

from retrieval.base import Retriever
from retrieval.passage import Passage

__all__ = ["Memory"]


class Memory(Retriever):
    """Holds passages in memory and ranks them by shared words, or answers from a script.

    For tests and examples: no analysis, no weights, the same answer every time. Real corpora want
    `retrieval.bm25.search`.

    Args:
        passages: The table.
        answers: What to return for given queries, by passage id, best first. Queries that are not listed are ranked
            by the number of different words, lower-cased, that the passage (title and text) shares with the query;
            ties keep the order of the table; passages that share no word are not found.

    Raises:
        KeyError: `answers` names an id that the table does not have.
    """

    def __init__(self, passages: Iterable[Passage], answers: Mapping[str, Iterable[str]] | None = None) -> None:
        self.passages = {passage.id: passage for passage in passages}
        self._answers = {query: [self.passages[i] for i in ids] for query, ids in (answers or {}).items()}

    def search(self, query: str, k: int) -> list[Passage]:
        if query in self._answers:
            return self._answers[query][:k]
        words = set(query.lower().split())
        scored = [(len(words & set(f"{p.title} {p.text}".lower().split())), p) for p in self.passages.values()]
        found = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
        return [Passage(p.id, p.text, p.title, float(score)) for score, p in found[:k]]
