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
import logging
import math
import signal
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from retrieval.base import Retriever
from retrieval.errors import UsageError

try:
    import uvicorn
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from retrieval.remote.connections import bounded_protocol
    from retrieval.remote.openapi import describe
    from retrieval.remote.searches import Searches, as_json
except ModuleNotFoundError as error:
    raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[serve]'") from error

__all__ = ["ServerLimits", "make_app", "serve", "uvicorn_config"]

_MOST_QUERIES = 64  # in one request to /batch
_LARGEST_BODY = 2**22  # bytes
_log = logging.getLogger("uvicorn.error")  # the server's own log, on stderr

_Form = TypeVar("_Form", bound=BaseModel)


@dataclass(frozen=True)
class ServerLimits:
    """What a server accepts.

    Attributes:
        k: Most passages per query; the ColBERTv2 protocol knows no more than 100.
        query: Longest query, in characters.
        batch: Most queries that are searched together.
        waiting: Most queries that wait to be searched, at least 64; any more are answered with 503.
        timeout: Seconds after which a query that has no answer yet gets a 503, and a request that has not arrived in
            full a 408; clients commonly wait for 10.

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
    config = uvicorn_config(make_app(retriever, limits), limits)
    address = f"[{host}]" if ":" in host else host
    _log.info("Serving on http://%s:%d, described on /openapi.json", address, listener.getsockname()[1])
    # When it has stopped, uvicorn raises the signal again: SIGTERM would then end the process on the spot.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with listener, suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)


def uvicorn_config(app: ASGIApp, limits: ServerLimits = ServerLimits()) -> uvicorn.Config:
    """How `serve` has uvicorn serve the application: no client can hold a connection for as long as it likes."""
    return uvicorn.Config(
        app,
        # As long as it may take to send a request, to search, and to read the reply.
        http=bounded_protocol(3 * limits.timeout, _LARGEST_BODY),
        loop="asyncio",  # uvloop takes a reply to a client that has gone for a fault of the application
        lifespan="on",
        ws="none",
        access_log=False,  # it would show everyone's queries
        server_header=False,
        timeout_graceful_shutdown=math.ceil(limits.timeout),
        h11_max_incomplete_event_size=2**16 + 12 * limits.query,  # a character may take 12 in a URL
    )


def make_app(retriever: Retriever, limits: ServerLimits = ServerLimits()) -> Starlette:
    """The server as an ASGI application, to run on an ASGI server of your own; `serve` runs it on uvicorn.

    Args:
        retriever: What searches; it is called from one thread at a time.
        limits: What the server accepts.
    """
    registry = CollectorRegistry()
    searches = Searches(retriever, registry, batch=limits.batch, waiting=limits.waiting, timeout=limits.timeout)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(searches.run())
        yield
        task.cancel()

    Text = Annotated[str, Field(max_length=limits.query, pattern=r"^[^\x00]*$")]
    K = Annotated[int, Field(ge=1, le=limits.k)]

    class InQuery(BaseModel):
        query: Text
        k: K = 10

    class Search(InQuery):
        model_config = ConfigDict(extra="forbid", strict=True)

    class Queries(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)
        queries: Annotated[list[Text], Field(max_length=_MOST_QUERIES)]
        k: K = 10

    async def one(request: Request) -> Response:
        in_body = request.method == "POST"
        search = await _in_body(request, Search, limits.timeout) if in_body else _in_query(request, InQuery)
        (entries,) = await searches.find([search.query], search.k)
        return _json(b'{"topk":%b}' % entries)

    async def many(request: Request) -> Response:
        search = await _in_body(request, Queries, limits.timeout)
        return _json(b'{"topk":[%b]}' % b",".join(await searches.find(search.queries, search.k)))

    async def health(_: Request) -> Response:
        if searches.stuck():
            raise HTTPException(503, "the retriever is stuck in a search")
        if part := await searches.ailing():
            raise HTTPException(503, part)
        return _json(as_json({"status": "ok"}))

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def page(_: Request) -> Response:
        return _json(described)

    described = as_json(describe(Search, Queries))
    return Starlette(
        routes=[
            *(Route(path, one, methods=["GET", "POST"]) for path in ("/", "/api/search")),
            *(Route(path, many, methods=["POST"]) for path in ("/batch", "/api/search/batch")),
            Route("/health", health),
            Route("/metrics", metrics),
            Route("/openapi.json", page),
        ],
        middleware=[Middleware(_Measured, registry=registry)],
        exception_handlers={HTTPException: _refused},
        lifespan=lifespan,
    )


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


def _in_query(request: Request, form: type[_Form]) -> _Form:
    """What a request asks for in its URL. Raises HTTPException if that is not of the form."""
    try:
        values = dict(parse_qsl(request.scope["query_string"].decode(), keep_blank_values=True, errors="strict"))
    except UnicodeDecodeError:
        raise HTTPException(400, "the query string is not UTF-8") from None
    try:
        return form.model_validate(values)
    except ValidationError as error:
        raise _invalid(error, "query") from None


async def _in_body(request: Request, form: type[_Form], timeout: float) -> _Form:
    """What a request asks for in its body. Raises HTTPException if that does not arrive or is not of the form."""
    body = bytearray()
    too_large = HTTPException(413, f"a request is at most {_LARGEST_BODY:,} bytes long")
    if int(request.headers.get("content-length", "0")) > _LARGEST_BODY:
        raise too_large
    try:
        async with asyncio.timeout(timeout):
            async for chunk in request.stream():
                body += chunk
                if len(body) > _LARGEST_BODY:
                    raise too_large
    except TimeoutError:
        message = f"the request did not arrive within {timeout:g} s"
        raise HTTPException(408, message, {"Connection": "close"}) from None
    except ClientDisconnect:
        raise HTTPException(400, "the request broke off") from None
    if "json" not in request.headers.get("content-type", ""):
        raise HTTPException(415, "send JSON, with the content type application/json")
    try:
        return form.model_validate_json(bytes(body))
    except ValidationError as error:
        raise _invalid(error, "body") from None


def _invalid(error: ValidationError, where: str) -> HTTPException:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return HTTPException(400, "There was an error parsing the body")
    return HTTPException(422, f"{'.'.join([where, *map(str, first['loc'])])}: {first['msg']}")


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json(as_json({"error": True, "message": error.detail}), error.status_code, error.headers)


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json")
