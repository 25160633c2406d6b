"""A search server for any retriever, which speaks the ColBERTv2 wire protocol.

    GET  /?query=…&k=…   or  POST / {"query": …, "k": …}    -> {"topk": [{"text": "Title | text", "pid": …, …}, …]}
    GET  /api/search     and POST /api/search                  the same
    POST /batch {"queries": […], "k": …}                    -> {"topk": [[{…}, …], …]}
    GET  /health, /metrics (Prometheus), /openapi.json

`dspy.ColBERTv2(url=…)` and `retrieval.remote.ColBERTv2` are clients. Queries that arrive during a search wait for its
end and are then searched together as one batch, so a retriever that is faster on batches is faster for everyone; a
single query does not wait for others. Errors are ``{"error": true, "message": REASON}`` with a status of 4xx (the
request is wrong), 502 (the retriever failed) or 503 (too busy).
"""

import asyncio
import json
import logging
import math
import signal
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import unquote_to_bytes

from pydantic import BaseModel, ConfigDict, Field

from retrieval.base import Retriever
from retrieval.errors import OdqaError, UsageError
from retrieval.passage import Passage

try:
    import uvicorn
    from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
    from fastapi.exceptions import RequestValidationError
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
    from starlette.exceptions import HTTPException as AnyHTTPException
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ModuleNotFoundError as error:
    raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[serve]'") from error

__all__ = ["ServerLimits", "make_app", "serve"]

_MOST_QUERIES = 64  # in one request to /batch
_LARGEST_BODY = 2**22  # bytes
_log = logging.getLogger("uvicorn.error")  # the server's own log, on stderr

_Entry = dict[str, Any]  # a passage in a reply


@dataclass(frozen=True)
class ServerLimits:
    """What a server accepts.

    Attributes:
        k: Most passages per query; the ColBERTv2 protocol knows no more than 100.
        query: Longest query, in characters.
        batch: Most queries that are searched together.
        waiting: Most queries that wait to be searched, at least 64; any more are answered with 503.
        timeout: Seconds after which a query that has no answer yet gets a 503; clients commonly wait for 10.

    Raises:
        UsageError: a limit is too low to answer anything.
    """

    k: int = 100
    query: int = 16_384
    batch: int = 32
    waiting: int = 256
    timeout: float = 10.0

    def __post_init__(self) -> None:
        if min(self.k, self.query, self.batch) < 1 or self.waiting < _MOST_QUERIES or not self.timeout > 0:
            raise UsageError(f"limits must be positive, and at least {_MOST_QUERIES} queries must be allowed to wait")


def serve(
    retriever: Retriever, *, host: str = "127.0.0.1", port: int = 8893, limits: ServerLimits = ServerLimits()
) -> None:
    """Serve searches until SIGINT or SIGTERM; then stop listening, finish what is under way, and return.

    For the main thread of a program, where signals arrive.

    Args:
        retriever: What searches; it is called from one thread at a time.
        host: Address to listen on. The server knows no users and no encryption: leave it on this machine, or behind
            a proxy that does.
        port: Port to listen on; 0 takes a free one, which the log names.
        limits: What the server accepts.

    Raises:
        UsageError: the host or port cannot be listened on.
    """
    if not 0 <= port < 2**16:
        raise UsageError(f"a port is a number from 0 to 65535, not {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}, port {port} ({error}); choose another host or port") from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else replies wait 40 ms to be acknowledged
    config = uvicorn.Config(
        make_app(retriever, limits),
        lifespan="on",
        ws="none",
        access_log=False,  # it would show everyone's queries
        server_header=False,
        timeout_graceful_shutdown=math.ceil(limits.timeout),
        h11_max_incomplete_event_size=2**16 + 12 * limits.query,  # a character may take 12 in a URL
    )
    address = f"[{host}]" if ":" in host else host
    _log.info("Serving on http://%s:%d, described on /openapi.json", address, listener.getsockname()[1])
    # When it has stopped, uvicorn raises the signal again: SIGTERM would then end the process on the spot.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with listener, suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)


def make_app(retriever: Retriever, limits: ServerLimits = ServerLimits()) -> FastAPI:
    """The server as an ASGI application, to run on an ASGI server of your own; `serve` runs it on uvicorn.

    Args:
        retriever: What searches; it is called from one thread at a time.
        limits: What the server accepts.
    """
    registry = CollectorRegistry()
    searches = _Searches(retriever, limits, registry)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(searches.run())
        yield
        task.cancel()

    app = FastAPI(
        title="ColBERTv2 search server",
        version="1",
        docs_url=None,  # FastAPI's pages load their scripts from another host
        redoc_url=None,
        lifespan=lifespan,
        max_body_size=_LARGEST_BODY,
        responses={400: {"model": _Problem}, 422: {"model": _Problem}, 503: {"model": _Problem}},
        exception_handlers={AnyHTTPException: _refused, RequestValidationError: _invalid},
    )
    app.add_middleware(_Measured, registry=registry)

    Text = Annotated[str, Field(max_length=limits.query, pattern=r"^[^\x00]*$")]
    K = Annotated[int, Field(ge=1, le=limits.k, strict=True)]

    class Search(BaseModel):
        model_config = ConfigDict(extra="forbid")
        query: Text
        k: K = 10

    class Searches(BaseModel):
        model_config = ConfigDict(extra="forbid")
        queries: Annotated[list[Text], Field(max_length=_MOST_QUERIES)]
        k: K = 10

    async def get(query: Annotated[Text, Query()], k: Annotated[int, Query(ge=1, le=limits.k)] = 10) -> Response:
        """The passages found for one query, best first."""
        (entries,) = await searches.find([query], k)
        return _json({"topk": entries})

    async def post(search: Search) -> Response:
        """The passages found for one query, best first."""
        (entries,) = await searches.find([search.query], search.k)
        return _json({"topk": entries})

    async def batch(search: Searches) -> Response:
        """The passages found for each query, best first, in the order of the queries."""
        return _json({"topk": await searches.find(search.queries, search.k)})

    async def health() -> Response:
        """Whether searches are answered; they are not while one search takes longer than the timeout."""
        if searches.stuck():
            raise HTTPException(503, "the retriever is stuck in a search")
        return _json({"status": "ok"})

    async def metrics() -> Response:
        """Counts and times, as Prometheus reads them."""
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    failed: dict[int | str, dict[str, Any]] = {502: {"model": _Problem}}
    large: dict[int | str, dict[str, Any]] = {413: {}, 415: {"model": _Problem}}
    for path in ("/", "/api/search"):
        app.get(path, response_model=_TopK, responses=failed, dependencies=[Depends(_utf8)])(get)
        app.post(path, response_model=_TopK, responses=failed | large)(post)
    for path in ("/batch", "/api/search/batch"):
        app.post(path, response_model=_TopKs, responses=failed | large)(batch)
    app.get("/health", response_model=_Health)(health)
    app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})(metrics)
    return app


class _Item(BaseModel):
    text: str = Field(description="`Title | text`, or the text alone where there is no title")
    long_text: str = Field(description="the same; clients that simplify read it here")
    pid: str = Field(description="the passage's id")
    rank: int = Field(description="1 for the best")
    score: float
    prob: float = Field(description="softmax of the scores that were returned")


class _TopK(BaseModel):
    topk: list[_Item]


class _TopKs(BaseModel):
    topk: list[list[_Item]]


class _Health(BaseModel):
    status: Literal["ok"]


class _Problem(BaseModel):
    error: Literal[True]
    message: str


@dataclass(eq=False)
class _Search:
    query: str
    k: int
    result: asyncio.Future[list[_Entry] | None]  # None: the retriever failed


class _Searches:
    """The queries that wait, and the one thread that searches for them."""

    def __init__(self, retriever: Retriever, limits: ServerLimits, registry: CollectorRegistry) -> None:
        self._retriever = retriever
        self._limits = limits
        self._queue: asyncio.Queue[_Search] = asyncio.Queue()
        self._busy_since: float | None = None
        self._sizes = Histogram(
            "search_batch_queries", "Queries searched together", buckets=(1, 2, 4, 8, 16, 32, 64), registry=registry
        )
        waiting = Gauge("search_waiting_queries", "Queries waiting to be searched", registry=registry)
        waiting.set_function(self._queue.qsize)

    async def find(self, queries: Sequence[str], k: int) -> list[list[_Entry]]:
        """The entries to answer to each query; waits for their turn. Raises HTTPException if there is no answer."""
        if self._queue.qsize() + len(queries) > self._limits.waiting:
            raise HTTPException(503, "too many searches are waiting; try again later", {"Retry-After": "1"})
        searches = [_Search(query, k, asyncio.get_running_loop().create_future()) for query in queries]
        for search in searches:
            self._queue.put_nowait(search)
        try:
            async with asyncio.timeout(self._limits.timeout):
                results = await asyncio.gather(*(search.result for search in searches))
        except TimeoutError:
            message = f"not found within {self._limits.timeout:g} s; try again later"
            raise HTTPException(503, message, {"Retry-After": "1"}) from None
        found = [entries for entries in results if entries is not None]
        if len(found) < len(results):
            raise HTTPException(502, "the retriever failed; the server's log says why")
        return found

    def stuck(self) -> bool:
        return self._busy_since is not None and time.monotonic() - self._busy_since > self._limits.timeout

    async def run(self) -> None:
        """Search for whatever waits, for ever."""
        while True:
            group = [await self._queue.get()]
            while len(group) < self._limits.batch and not self._queue.empty():
                group.append(self._queue.get_nowait())
            # The best for a larger k need not begin with the best for a smaller one, so each k has a search of its own.
            for k in sorted({search.k for search in group}):
                await self._answer([search for search in group if search.k == k])

    async def _answer(self, group: list[_Search]) -> None:
        group = [search for search in group if not search.result.done()]  # some timed out
        if not group:
            return
        self._sizes.observe(len(group))
        self._busy_since = time.monotonic()
        found = await asyncio.to_thread(self._find, [search.query for search in group], group[0].k)
        self._busy_since = None
        if found is None and len(group) > 1:  # one query must not fail those that were batched with it
            for search in group:
                await self._answer([search])
            return
        for n, search in enumerate(group):
            if not search.result.done():
                search.result.set_result(found[n] if found else None)

    def _find(self, queries: list[str], k: int) -> list[list[_Entry]] | None:
        try:
            found = self._retriever.batch(queries, k)
            return [_entries(passages) for _, passages in zip(queries, found, strict=True)]
        except OdqaError as error:
            _log.error("The retriever failed: %s", error)
        except Exception:
            _log.exception("The retriever failed")
        return None


class _Measured:
    """ASGI middleware that counts and times requests."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        self._requests = Counter("search_requests", "Requests answered", ["path", "status"], registry=registry)
        self._seconds = Histogram("search_request_seconds", "Time to answer requests", ["path"], registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        began = time.perf_counter()
        try:
            await self._app(scope, receive, watched)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self._requests.labels(path, status).inc()
            self._seconds.labels(path).observe(time.perf_counter() - began)


def _entries(passages: Sequence[Passage]) -> list[_Entry]:
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
        text = f"{passage.title} | {passage.text}" if passage.title else passage.text
        prob = math.exp(score - best) / total
        entries.append({"text": text, "long_text": text, "pid": passage.id, "rank": rank, "score": score, "prob": prob})
    return entries


async def _utf8(request: Request) -> None:
    """Refuse a query string that is not UTF-8; FastAPI would replace the bytes that it cannot read."""
    try:
        unquote_to_bytes(request.scope["query_string"]).decode()
    except UnicodeDecodeError:
        raise HTTPException(400, "the query string is not UTF-8") from None


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, AnyHTTPException)
    return _json({"error": True, "message": error.detail}, error.status_code, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    if request.method == "POST" and "json" not in request.headers.get("content-type", ""):
        return _json({"error": True, "message": "send JSON, with the content type application/json"}, 415)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return _json({"error": True, "message": f"{where}: {first['msg']}"}, 422)


def _json(content: Any, status: int = 200, headers: Any = None) -> Response:
    # Passages and requests may hold lone surrogates, which UTF-8 cannot hold.
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(body, status, headers, "application/json")
