"""Known-item search: a passage of an index must be found by a sentence of its own.

What it is for: an index that is searched with another model, prefix or collection than it was made with still answers,
only badly, and nobody is told.
"""

import logging
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from retrieval.passage import Passage
from retrieval.ranking.sentences import split_sentences

__all__ = ["Index", "check", "spread"]

_TRIED = 5
_NEAR = 10  # ranks that are near the top
_FIRST = 3  # sentences: encoders do not see the end of a long passage
_FEWEST, _MOST = 5, 16  # words of a query: fewer say too little; more are too long for ColBERT's 32 tokens

logger = logging.getLogger(__name__)


@runtime_checkable
class Index(Protocol):
    """A retriever that has its passages at hand."""

    def __len__(self) -> int: ...

    def passage(self, row: int) -> Passage:
        """The passage in that row, counted from 0."""

    def batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]: ...


def check(index: Index, name: str) -> None:
    """Search for five passages, spread over the index, with the beginning of a sentence of each.

    Logs a warning if fewer than half are among the first ten, where any passage with that text will do. Nothing is
    raised: no search promises to find them, and approximate search, or a weak model, misses one now and then. Passages
    without a sentence of five words are left out.

    Args:
        index: What to search.
        name: What it is called in the warning.

    Raises:
        RetrievalError: a search failed.
    """
    queries = [query for row in spread(len(index)) if (query := _query(index.passage(row).text))]
    lists = index.batch(queries, _NEAR)
    found = sum(
        any(query in _folded(passage.text) for passage in passages)
        for query, passages in zip(queries, lists, strict=True)
    )
    if 2 * found < len(queries):
        logger.warning(
            "%s finds only %d of %d of its passages by a sentence of theirs: it is probably searched with another "
            "model, prefix or collection than it was made with",
            name,
            found,
            len(queries),
        )


def spread(size: int) -> range:
    """A few rows, evenly spread over an index of that size."""
    return range(0, size, max(1, -(-size // _TRIED)))


def _query(text: str) -> str | None:
    words = max(split_sentences(text)[:_FIRST], key=len, default="").split()
    return " ".join(words[:_MOST]) if len(words) >= _FEWEST else None


def _folded(text: str) -> str:
    return " ".join(text.split())
