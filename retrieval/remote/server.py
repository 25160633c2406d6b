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
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from odqa.errors import UsageError
from odqa.extras import needing
from retrieval.base import Retriever

with needing("serve"):
    import uvicorn
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute, Route
    from starlette.types import ASGIApp

    from retrieval.remote.searches import Searches
    from retrieval.serving.bodies import BoundedBodies
    from retrieval.serving.counting import Counted
    from retrieval.serving.listening import config, run
    from retrieval.serving.openapi import Endpoint, described
    from retrieval.serving.pages import NoOtherPages, is_loopback, names_of
    from retrieval.serving.requests import as_json, first_fault, json_body

__all__ = ["ServerLimits", "make_app", "serve", "uvicorn_config"]

_MOST_QUERIES = 64  # in one request to /batch
_LARGEST_BODY = 2**22  # bytes
_CODES = [400, 408, 413, 415, 422, 502, 503]  # of errors, where there is a body

_Form = TypeVar("_Form", bound=BaseModel)


class Item(BaseModel):
    """A passage that was found."""

    text: str = Field(description="`Title | text`, or the text alone where there is no title")
    long_text: str = Field(description="the same; clients that simplify read it here")
    pid: str = Field(description="the passage's id")
    rank: int = Field(description="1 for the best")
    score: float
    prob: float = Field(description="softmax of the scores that were returned")


class TopK(BaseModel):
    """What was found for a query."""

    topk: list[Item]


class TopKs(BaseModel):
    """What was found for each query."""

    topk: list[list[Item]]


class Health(BaseModel):
    """That searches are answered."""

    status: Literal["ok"]


class Problem(BaseModel):
    """The form of every error."""

    error: Literal[True]
    message: str


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
    retriever: Retriever,
    *,
    host: str = "127.0.0.1",
    port: int = 8893,
    limits: ServerLimits = ServerLimits(),
    names: Sequence[str] = (),
) -> None:
    """Serve searches until SIGINT or SIGTERM; then stop listening, finish what is under way, and return.

    For the main thread of a program, where signals arrive.

    Args:
        retriever, limits: See `make_app`.
        host: Address to listen on. The server knows no users and no encryption: leave it on this machine, or behind
            a proxy that does.
        port: Port to listen on; 0 takes a free one, which the log names.
        names: Further names under which a proxy or its network knows a server that is on this machine only.

    Raises:
        UsageError: the host or port cannot be listened on.
    """
    known = names_of(host, names) if is_loopback(host) or names else None
    run(
        uvicorn.Server(uvicorn_config(make_app(retriever, limits, known), limits)),
        host,
        port,
        "described on /openapi.json",
    )


def uvicorn_config(app: ASGIApp, limits: ServerLimits = ServerLimits()) -> uvicorn.Config:
    """How `serve` has uvicorn serve the application: no client can hold a connection for as long as it likes."""
    return config(
        app,
        seconds=3 * limits.timeout,  # as long as it may take to send a request, to search, and to read the reply
        grace=limits.timeout,
        body=_LARGEST_BODY,
        head=2**16 + 12 * limits.query,  # a character may take 12 in a URL
    )


def make_app(
    retriever: Retriever, limits: ServerLimits = ServerLimits(), names: frozenset[str] | None = None
) -> Starlette:
    """The server as an ASGI application, to run on an ASGI server of your own; `serve` runs it on uvicorn.

    Args:
        retriever: What searches; it is called from one thread at a time.
        limits: What the server accepts.
        names: See `retrieval.serving.pages.NoOtherPages`.
    """
    registry = CollectorRegistry()
    searches = Searches(retriever, registry, batch=limits.batch, waiting=limits.waiting, timeout=limits.timeout)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(searches.run())
        yield
        task.cancel()

    routes = _endpoints(searches, registry, limits)

    async def page(_: Request) -> Response:
        return _json(as_json(described("ColBERTv2 search server", routes)))

    return Starlette(
        routes=[*routes, Route("/openapi.json", page)],
        middleware=[
            Middleware(Counted, registry=registry, name="search"),
            Middleware(NoOtherPages, names=names),
            Middleware(BoundedBodies, most=_LARGEST_BODY),
        ],
        exception_handlers={HTTPException: _refused},
        lifespan=lifespan,
    )


def _endpoints(searches: Searches, registry: CollectorRegistry, limits: ServerLimits) -> list[BaseRoute]:
    InURL, Search, Queries = _forms(limits)

    async def found(search: Any) -> Response:
        (entries,) = await searches.find([search.query], search.k)
        return _json(b'{"topk":%b}' % entries)

    async def by_url(request: Request) -> Response:
        """The passages found for one query, best first."""
        return await found(_in_url(request, InURL))

    async def by_body(request: Request) -> Response:
        """The passages found for one query, best first."""
        return await found(await _in_body(request, Search, limits.timeout))

    async def batch(request: Request) -> Response:
        """The passages found for each query, best first, in the order of the queries."""
        search = await _in_body(request, Queries, limits.timeout)
        return _json(b'{"topk":[%b]}' % b",".join(await searches.find(search.queries, search.k)))

    async def health(_: Request) -> Response:
        """Whether searches are answered; they are not while one search takes longer than the timeout."""
        if searches.stuck():
            raise HTTPException(503, "the retriever is stuck in a search")
        if part := await searches.ailing():
            raise HTTPException(503, part)
        return _json(as_json({"status": "ok"}))

    async def metrics(_: Request) -> Response:
        """Counts and times, as Prometheus reads them."""
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    def endpoint(path: str, handler: Any, codes: Sequence[int] = (), **types: Any) -> Endpoint:
        return Endpoint(path, handler, codes=codes, failure=Problem, **types)

    routes: list[BaseRoute] = []
    for path in ("/", "/api/search"):
        routes.append(endpoint(path, by_url, [400, 422, 502, 503], query=InURL, gives=TopK))
        routes.append(endpoint(path, by_body, _CODES, takes=Search, gives=TopK))
    routes += [endpoint(path, batch, _CODES, takes=Queries, gives=TopKs) for path in ("/batch", "/api/search/batch")]
    routes.append(endpoint("/health", health, [503], gives=Health))
    routes.append(endpoint("/metrics", metrics, kinds=["text/plain"]))
    return routes


def _forms(limits: ServerLimits) -> tuple[type[Any], type[Any], type[Any]]:
    """What may be asked: one query in a URL, one in a body, and several in a body."""
    Text = Annotated[str, Field(max_length=limits.query, pattern=r"^[^\x00]*$")]
    K = Annotated[int, Field(ge=1, le=limits.k)]

    class InURL(BaseModel):
        query: Text
        k: K = 10

    class Search(InURL):
        model_config = ConfigDict(extra="forbid", strict=True)

    class Queries(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)
        queries: Annotated[list[Text], Field(max_length=_MOST_QUERIES)]
        k: K = 10

    return InURL, Search, Queries


def _in_url(request: Request, form: type[_Form]) -> _Form:
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
    body = await json_body(request, timeout)
    try:
        return form.model_validate_json(body)
    except ValidationError as error:
        raise _invalid(error, "body") from None


def _invalid(error: ValidationError, where: str) -> HTTPException:
    field, fault = first_fault(error)
    return (
        HTTPException(400, fault) if field is None else HTTPException(422, f"{where}.{field}".strip(".") + f": {fault}")
    )


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json(as_json({"error": True, "message": error.detail}), error.status_code, error.headers)


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, "application/json")
