"""Queries that arrive while a retriever works are searched together, as its next batch.

A query that finds the retriever idle is searched at once, alone. So one client has the latency of one search, and many
have the throughput of batches.
"""

import asyncio
import logging
import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, Histogram
from starlette.exceptions import HTTPException

from odqa.errors import OdqaError, ShardError
from retrieval.base import Retriever
from retrieval.passage import Passage, joined
from retrieval.serving.requests import as_json

__all__ = ["Searches"]

_log = logging.getLogger("uvicorn.error")  # the server's own log, on stderr
_FAILED = "the retriever failed; the server's log says why"


@dataclass(eq=False)
class _Search:
    query: str
    k: int
    result: asyncio.Future[bytes | str]  # text: why the retriever failed


class Searches:
    """The queries that wait, and the one thread that searches for them; see `retrieval.remote.server.ServerLimits`."""

    def __init__(
        self, retriever: Retriever, registry: CollectorRegistry, *, batch: int, waiting: int, timeout: float
    ) -> None:
        self._retriever = retriever
        self._batch, self._waiting, self._timeout = batch, waiting, timeout
        self._queue: asyncio.Queue[_Search] = asyncio.Queue()
        self._busy_since: float | None = None
        self._check: asyncio.Task[None] | None = None
        self._sizes = Histogram(
            "search_batch_queries", "Queries searched together", buckets=(1, 2, 4, 8, 16, 32, 64), registry=registry
        )
        gauge = Gauge("search_waiting_queries", "Queries waiting to be searched", registry=registry)
        gauge.set_function(self._queue.qsize)

    async def find(self, queries: Sequence[str], k: int) -> list[bytes]:
        """What was found for each query, a list in JSON.

        Raises:
            HTTPException: too many queries wait, there is no answer in time, or the retriever failed.
        """
        if self._queue.qsize() + len(queries) > self._waiting:
            raise HTTPException(503, "too many searches are waiting; try again later", {"Retry-After": "1"})
        loop = asyncio.get_running_loop()
        searches = [_Search(query, k, loop.create_future()) for query in queries]
        for search in searches:
            self._queue.put_nowait(search)
        try:
            async with asyncio.timeout(self._timeout):
                results = [await search.result for search in searches]
        except TimeoutError:
            message = f"not found within {self._timeout:g} s; try again later"
            raise HTTPException(503, message, {"Retry-After": "1"}) from None
        finally:
            for search in searches:  # nobody waits for them any more
                search.result.cancel()
        for reason in results:
            if isinstance(reason, str):
                raise HTTPException(502, reason)
        return [entries for entries in results if isinstance(entries, bytes)]

    async def ailing(self) -> str | None:
        """Which part of the retriever is down, if one is. Whoever asks meanwhile gets the same answer."""
        if self._check is None or self._check.done():
            self._check = asyncio.create_task(asyncio.to_thread(self._retriever.check))
        try:
            await asyncio.shield(self._check)
        except ShardError as error:
            return error.public
        return None

    def stuck(self) -> bool:
        """Whether a search takes longer than the timeout."""
        return self._busy_since is not None and time.monotonic() - self._busy_since > self._timeout

    async def run(self) -> None:
        """Search for whatever waits, for ever."""
        with ThreadPoolExecutor(1, "search") as thread:  # always the same: OpenMP has a pool for each that calls it
            while True:
                group = [await self._queue.get()]
                while len(group) < self._batch and not self._queue.empty():
                    group.append(self._queue.get_nowait())
                # The best for a larger k need not begin with the best for a smaller one: each k has its own search.
                for k in sorted({search.k for search in group}):
                    await self._answer([search for search in group if search.k == k], thread)

    async def _answer(self, group: list[_Search], thread: ThreadPoolExecutor) -> None:
        group = [search for search in group if not search.result.done()]
        if not group:
            return
        self._sizes.observe(len(group))
        self._busy_since = time.monotonic()
        queries = [search.query for search in group]
        found = await asyncio.get_running_loop().run_in_executor(thread, self._find, queries, group[0].k)
        self._busy_since = None
        if found is None and len(group) > 1:  # one query must not fail those that were batched with it
            for search in group:
                await self._answer([search], thread)
            return
        replies: Sequence[bytes | str] = [found or _FAILED] * len(group) if not isinstance(found, list) else found
        for search, reply in zip(group, replies, strict=True):
            if not search.result.done():
                search.result.set_result(reply)

    def _find(self, queries: list[str], k: int) -> list[bytes] | str | None:
        """What was found for each query, or for all of them which part is down; None where the retriever failed."""
        try:
            found = self._retriever.batch(queries, k)
            return [as_json(_entries(passages)) for _, passages in zip(queries, found, strict=True)]
        except ShardError as error:
            _log.error("%s", error)
            return error.public
        except OdqaError as error:
            _log.error("The retriever failed: %s", error)
        except Exception:
            _log.exception("The retriever failed")
        return None


def _entries(passages: Sequence[Passage]) -> list[dict[str, Any]]:
    """What the reply says about each passage.

    Raises:
        TypeError, ValueError: a passage has no score, or one that is no number.
    """
    scores = [float(passage.score) for passage in passages]  # type: ignore[arg-type]
    if not all(map(math.isfinite, scores)):
        raise ValueError("a score is infinite or no number")
    best = max(scores, default=0.0)
    total = sum(math.exp(score - best) for score in scores)
    entries = []
    for rank, (passage, score) in enumerate(zip(passages, scores, strict=True), 1):
        text = joined(passage)
        prob = math.exp(score - best) / total
        entries.append({"text": text, "long_text": text, "pid": passage.id, "rank": rank, "score": score, "prob": prob})
    return entries
