"""Searching all shards of an index at once."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

from odqa.files import damage
from retrieval.base import BatchRetriever, Retriever
from retrieval.candidates import chosen
from retrieval.passage import Passage
from retrieval.shards.build import AGAIN, shards_in

__all__ = ["STAGED", "Shard", "Sharded", "open_shards"]

STAGED = ("colbert",)  # kinds of index whose candidates the shards choose together, with `candidates` and `rank`

Shard = Callable[..., Callable[[float | None], Any]]
"""Begins what a method of one shard's retriever does, given its name and arguments, and gives what waits for its end,
for so many seconds at most, and returns the result."""


class Sharded(BatchRetriever):
    """Asks every shard for its best passages and keeps the best of all, as one index of all passages would.

    A shard that does not answer is an error: never are fewer passages found in silence. Passages of the same score come
    in the order of the shards, which is that of their passages.

    Args:
        staged: Whether a search has stages: first each shard names its candidates, then each scores those of them that
            are the best of all. See `retrieval.candidates`.
        timeout: Seconds in which the shards have to answer; without it they may take as long as they like.

    Raises:
        RetrievalError: (in searches) a shard does not answer.
    """

    def __init__(self, shards: Sequence[Shard], *, staged: bool = False, timeout: float | None = None) -> None:
        self._shards = list(shards)
        self._staged = staged
        self._timeout = timeout

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        end = self._end()
        if self._staged:
            parts = self._ask("candidates", [(queries, k)] * len(self._shards), end)
            rows = zip(*(chosen(of_all) for of_all in zip(*parts, strict=True)), strict=True)
            asked = [
                [(candidates.query, some) for candidates, some in zip(part, of_part, strict=True)]
                for part, of_part in zip(parts, rows, strict=True)
            ]
            found = self._ask("rank", [(some, k) for some in asked], end)
        else:
            found = self._ask("batch", [(queries, k)] * len(self._shards), end)
        return [_best(lists, k) for lists in zip(*found, strict=True)]

    def _end(self) -> float | None:
        return None if self._timeout is None else time.monotonic() + self._timeout

    def _ask(self, method: str, arguments: Sequence[tuple[Any, ...]], end: float | None) -> list[Any]:
        """What that method of each shard returns for its arguments."""
        begun = [shard(method, *some) for shard, some in zip(self._shards, arguments, strict=True)]
        return [wait(None if end is None else max(end - time.monotonic(), 0.0)) for wait in begun]


def open_shards(path: str | Path, load: Callable[[str], Retriever]) -> Sharded:
    """Open all shards in a directory in this process.

    Raises:
        UsageError: there are none, or one cannot be opened.
        RetrievalError: one is damaged.
    """
    shards = shards_in(path)
    opened: list[Any] = [load(f"{shard.kind}:{shard.directory}") for shard in shards]
    for shard, index in zip(shards, opened, strict=True):
        if len(index) != shard.passages:
            raise damage(shard.directory, f"it has {len(index)} passages instead of {shard.passages}", AGAIN)
    threads = ThreadPoolExecutor(len(opened), "shard")

    def asked(retriever: Retriever) -> Shard:
        return lambda method, *args: threads.submit(getattr(retriever, method), *args).result

    return Sharded([asked(retriever) for retriever in opened], staged=shards[0].kind in STAGED)


def _best(lists: Iterable[list[Passage]], k: int) -> list[Passage]:
    return sorted(chain.from_iterable(lists), key=lambda passage: -(passage.score or 0.0))[:k]
