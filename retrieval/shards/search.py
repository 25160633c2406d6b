"""Searching all shards of an index at once."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from retrieval.base import Retriever
from retrieval.passage import Passage
from retrieval.shards.build import directories_of

__all__ = ["Shard", "Sharded", "open_shards"]

Shard = Callable[[Sequence[str], int], Callable[[], list[list[Passage]]]]
"""Begins a search of one shard for each query, and gives what waits for its end and returns the results."""


class Sharded(Retriever):
    """Asks every shard for its best passages and keeps the best of all, as one index of all passages would.

    A shard that does not answer is an error: never are fewer passages found in silence. Passages of the same score come
    in the order of the shards.

    Args:
        shards: The shards, in the order of their passages.

    Raises:
        RetrievalError: (in searches) a shard does not answer.
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = list(shards)

    def search(self, query: str, k: int) -> list[Passage]:
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        begun = [shard(queries, k) for shard in self._shards]
        found = [wait() for wait in begun]
        return [_best(lists, k) for lists in zip(*found, strict=True)]


def open_shards(path: str | Path, load: Callable[[str], Retriever]) -> Sharded:
    """Open all shards in a directory in this process.

    Args:
        path: The directory.
        load: Opens the retriever that a short text names.

    Raises:
        UsageError: there are none, or one cannot be opened.
        RetrievalError: one is damaged.
    """
    opened = [load(f"{kind}:{directory}") for kind, directory in directories_of(path)]
    threads = ThreadPoolExecutor(len(opened), "shard")

    def shard(retriever: Retriever) -> Shard:
        return lambda queries, k: threads.submit(retriever.batch, queries, k).result

    return Sharded([shard(retriever) for retriever in opened])


def _best(lists: Iterable[list[Passage]], k: int) -> list[Passage]:
    return sorted(chain.from_iterable(lists), key=lambda passage: -(passage.score or 0.0))[:k]
