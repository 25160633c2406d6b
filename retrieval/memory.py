"""A retriever over a table of passages: the public test double."""

from collections.abc import Iterable, Mapping
from typing import Any

from retrieval.base import Retriever
from retrieval.foreign import as_passages
from retrieval.passage import Passage

__all__ = ["Memory"]


class Memory(Retriever):
    """Holds passages in memory and ranks them by shared words, or answers from a script.

    For tests and examples: the same answer every time, without weights. For real corpora use `retrieval.bm25.BM25`.

    Args:
        passages: What can be found: passages, texts, or whatever else `retrieval.as_passages` takes. Of each id the
            first is taken.
        answers: The ids to return for given queries, best first. For any other query, passages are ranked by how many
            different words, lower-cased, their title and text share with the query. Ties keep the order of the
            passages; passages that share no word are not found.

    Raises:
        KeyError: `answers` names an id that no passage has.
    """

    def __init__(self, passages: Iterable[Any], answers: Mapping[str, Iterable[str]] | None = None) -> None:
        self.passages = {passage.id: passage for passage in as_passages(passages)}
        self._answers = {query: [self.passages[i] for i in ids] for query, ids in (answers or {}).items()}

    def search(self, query: str, k: int) -> list[Passage]:
        if query in self._answers:
            return self._answers[query][:k]
        words = set(query.lower().split())
        scored = [(len(words & set(f"{p.title} {p.text}".lower().split())), p) for p in self.passages.values()]
        found = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
        return [Passage(p.id, p.text, p.title, float(score)) for score, p in found[:k]]
