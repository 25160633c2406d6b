"""Searches that candidates ask alike, made once."""

from retrieval import Passage, Retriever

__all__ = ["Remembering"]


class Remembering(Retriever):
    """A retriever that keeps what it found, as long as the process lives: the same query again costs no search. What
    watches searches sees every one.

    Args:
        retriever: Searches; one that asks an LM is not kept from asking.
    """

    def __init__(self, retriever: Retriever) -> None:
        self.opened_as, self.opened_by, self.asks_lm = retriever.opened_as, retriever.opened_by, retriever.asks_lm
        self._retriever = retriever
        self._found: dict[tuple[str, int], list[Passage]] = {}

    def search(self, query: str, k: int) -> list[Passage]:
        if self.asks_lm:
            return self._retriever.search(query, k)
        found = self._found.get((query, k))
        if found is None:
            found = self._found[query, k] = self._retriever.search(query, k)
        return list(found)

    def check(self) -> None:
        self._retriever.check()
