"""The answers server: an ASGI application with room for further routes, served on an address of this machine."""

import asyncio
import socket
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Literal

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from programs.serving.answering import Answering
from programs.serving.answers import answer_routes
from programs.serving.chat import chat_routes
from programs.serving.description import Endpoint, description_routes
from programs.serving.guard import Admission, Guard
from programs.serving.mcp import mcp_routes
from programs.serving.problems import Problem, as_problem, refusal
from programs.serving.responses import response_routes
from retrieval.serving.bodies import BoundedBodies
from retrieval.serving.counting import Counted
from retrieval.serving.listening import config, run
from retrieval.serving.requests import json_reply

__all__ = ["Server", "serve"]

_PAGE = Path(__file__).parent / "page"


class Health(BaseModel):
    """That the server answers, and whether it can be asked now."""

    status: Literal["ok", "busy"]
    free: int
    """How many more questions may be in flight; at 0 the server is busy, and any more get 503."""


class Server(uvicorn.Server):
    """uvicorn's server, which when it stops ends the questions that are still in flight after the grace."""

    def __init__(self, answering: Answering, admission: Admission, routes: Sequence[BaseRoute] = ()) -> None:
        limits = answering.limits
        # As long as it may take to send a request, to answer it, and to read the reply.
        seconds = 3 * limits.arrival + limits.seconds
        grace = limits.grace + limits.arrival  # the rest is for telling so
        app = _make_app(answering, admission, routes)
        super().__init__(config(app, seconds=seconds, grace=grace, body=limits.body, head=2**16))
        self._answering = answering

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        alarm = asyncio.get_running_loop().call_later(self._answering.limits.grace, self._answering.stop)
        await super().shutdown(sockets)
        alarm.cancel()


def serve(answering: Answering, admission: Admission, routes: Sequence[BaseRoute] = (), *, port: int) -> None:
    """Serve until SIGINT or SIGTERM; then stop listening, answer what is in flight, and return.

    For the main thread of a program, where signals arrive.

    Args:
        answering: Answers the questions.
        admission: Who may ask, and the address to listen on.
        routes: Further routes.
        port: The port; 0 takes a free one, which the log names.

    Raises:
        UsageError: the host or port cannot be listened on.
    """
    run(Server(answering, admission, routes), admission.host, port, "described on /docs")


def _make_app(answering: Answering, admission: Admission, routes: Sequence[BaseRoute]) -> Starlette:
    registry = answering.metrics.registry

    async def health(_: Request) -> Response:
        """Whether the server answers, and whether it can be asked now."""
        free = answering.places.free
        return json_reply({"status": "ok" if free else "busy", "free": free})

    async def metrics(_: Request) -> Response:
        """Counts and times, as Prometheus reads them; no word of any question."""
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def first_page(_: Request) -> Response:
        return FileResponse(_PAGE / "index.html")

    served: list[BaseRoute] = [
        *answer_routes(answering),
        *chat_routes(answering),
        *response_routes(answering),
        *mcp_routes(answering),
        Endpoint("/health", health, gives=Health),
        Endpoint("/metrics", metrics, kinds=["text/plain"]),
        *routes,
    ]
    described = description_routes(served, {"method": answering.models, "model": answering.models})
    page = [Route("/", first_page), Mount("/page", StaticFiles(directory=_PAGE))]
    return Starlette(
        routes=[*served, *described, *page],
        middleware=[
            Middleware(Counted, registry=registry, name="answers"),
            Middleware(Guard, admission=admission),
            Middleware(BoundedBodies, most=answering.limits.body),
        ],
        exception_handlers={HTTPException: _refused, Problem: _refused, Exception: _refused},
    )


async def _refused(_: Request, error: Exception) -> Response:
    """The error, in OpenAI's form."""
    if isinstance(error, HTTPException):
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
        return refusal(Problem(error.status_code, error.detail, code, error.headers))
    return refusal(as_problem(error))
