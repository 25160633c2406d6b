"""Known-item search: an index must find a passage by one of its own sentences.

This shows when an index is searched with a different model, prefix or collection from those it was made with. Such an
index still answers, only badly, and nothing else would tell.
"""

import logging
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from retrieval.passage import Passage
from retrieval.ranking.sentences import split_sentences

__all__ = ["Index", "check_index", "is_checking", "sample_rows"]

_TRIED = 5  # passages
_NEAR = 10  # ranks that are near the top
_FIRST = 3  # sentences looked at: encoders do not see the end of a long passage
_FEWEST, _MOST = 5, 16  # words of a query: fewer say too little; more are too long for ColBERT's 32 tokens

logger = logging.getLogger(__name__)

_checking = ContextVar("_checking", default=False)


@runtime_checkable
class Index(Protocol):
    """A retriever that can also give its passages by number."""

    def __len__(self) -> int: ...

    def passage(self, row: int) -> Passage:
        """The passage in that row, counted from 0."""

    def batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]: ...


def check_index(index: Index, name: str) -> None:
    """Search for five passages, spread over the index, with the beginning of a sentence of each.

    Logs a warning, which calls the index `name`, if fewer than half are among the first ten; any passage that has the
    same words counts. It is no error, because approximate search or a weak model misses a passage now and then.
    Passages without a sentence of five words are left out.

    Raises:
        RetrievalError: a search failed.
    """
    queries = [query for row in sample_rows(len(index)) if (query := _query(index.passage(row).text))]
    token = _checking.set(True)
    try:
        lists = index.batch(queries, _NEAR)
    finally:
        _checking.reset(token)
    found = sum(
        any(query in _folded(passage.text) for passage in passages)
        for query, passages in zip(queries, lists, strict=True)
    )
    if 2 * found < len(queries):
        logger.warning(
            "%s finds only %d of %d of its passages by a sentence of theirs: it is probably searched with a different "
            "model, prefix or collection from those it was made with",
            name,
            found,
            len(queries),
        )


def is_checking() -> bool:
    """Whether the search that is under way is one of `check_index`, whose queries are not the user's."""
    return _checking.get()


def sample_rows(size: int) -> range:
    """At most five rows, evenly spread over an index of that size."""
    return range(0, size, max(1, -(-size // _TRIED)))


def _query(text: str) -> str | None:
    words = max(split_sentences(text)[:_FIRST], key=len, default="").split()
    return " ".join(words[:_MOST]) if len(words) >= _FEWEST else None


def _folded(text: str) -> str:
    return " ".join(text.split())
