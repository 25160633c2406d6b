"""The base class of all retrievers: backends write `search`, callers call the object."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

from odqa.bridge import with_callbacks
from odqa.errors import UsageError
from retrieval.passage import Passage

__all__ = ["BatchRetriever", "Retriever"]


class Retriever(ABC):
    """Finds passages for a query.

    A backend subclasses this and writes `search`; it also writes `search_batch` if it can answer many queries faster
    together. Callers call the object, which checks the arguments and shows the search to DSPy's callbacks. Deep copies
    share the retriever: DSPy's optimizers deep-copy programs, and must not copy an index. A pickle of what
    `retrieval.load` opened has its name, and opens it again.
    """

    opened_as: str | None = None
    """What `retrieval.load` opened it by, so that another process can open it too; None where it did not."""
    opened_by: Callable[[str], "Retriever"] | None = None
    """`retrieval.load`, where it opened the retriever."""
    asks_lm: bool = False
    """Whether a search asks DSPy's current LM."""

    @abstractmethod
    def search(self, query: str, k: int) -> list[Passage]:
        """The at most `k` best passages for `query`, best first, each id once, with scores."""

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """`search` for each query, in the order of the queries."""
        return [self.search(query, k) for query in queries]

    def check(self) -> None:  # noqa: B027 - most have nothing to ask
        """Do nothing, or raise what a search would raise now: a server asks this for its `/health`.

        Raises:
            ShardError: a part of the index does not answer.
        """

    @with_callbacks
    def __call__(self, query: str, k: int = 5) -> list[Passage]:
        """Search for one query.

        Args:
            query: What to look for; an empty or blank query finds nothing.
            k: How many passages at most.

        Raises:
            UsageError: `k` is below 1.
            RetrievalError: the backend could not answer.
        """
        if not isinstance(query, str):
            raise UsageError(f"a question or query is text, not {query!r}")
        if k < 1:
            raise UsageError(f"k is the number of passages to find and must be at least 1, not {k}")
        return self.search(query, k) if query.strip() else []

    def batch(self, queries: Sequence[str], k: int = 5) -> list[list[Passage]]:
        """Search for many queries at once; gives what calling the object for each query gives.

        Callbacks do not see these searches. Batches are for evaluation; the methods search one query at a time.
        """
        if k < 1:
            raise UsageError(f"k is the number of passages to find and must be at least 1, not {k}")
        asked = [n for n, query in enumerate(queries) if query.strip()]
        found: list[list[Passage]] = [[] for _ in queries]
        if asked:
            for n, passages in zip(asked, self.search_batch([queries[n] for n in asked], k), strict=True):
                found[n] = passages
        return found

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.opened_by is None:
            return super().__reduce_ex__(protocol)
        return self.opened_by, (self.opened_as,)


class BatchRetriever(Retriever):
    """A retriever that writes `search_batch`: one query is a batch of one."""

    @abstractmethod
    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]: ...

    def search(self, query: str, k: int) -> list[Passage]:
        return self.search_batch([query], k)[0]
