"""The answers server as an ASGI application, with room for further routes."""

from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Literal

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
from retrieval.serving.requests import json_reply

__all__ = ["make_app"]

_PAGE = Path(__file__).parent / "page"


class Health(BaseModel):
    """That the server answers, and whether it can be asked now."""

    status: Literal["ok", "busy"]
    free: int
    """How many more questions may be in flight; at 0 the server is busy, and any more get 503."""


def make_app(answering: Answering, admission: Admission, routes: Sequence[BaseRoute] = ()) -> Starlette:
    """The server as an ASGI application.

    Args:
        answering: Answers the questions.
        admission: Who may ask.
        routes: Further routes.
    """
    registry = answering.metrics.registry

    async def health(_: Request) -> Response:
        """Whether the server answers, and whether it can be asked now."""
        free = answering.places.free
        return json_reply({"status": "ok" if free else "busy", "free": free})

    async def metrics(_: Request) -> Response:
        """Counts and times, as Prometheus reads them; no word of any question."""
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    served: list[BaseRoute] = [
        *answer_routes(answering),
        *chat_routes(answering),
        *response_routes(answering),
        *mcp_routes(answering),
        Endpoint("/health", health, gives=Health),
        Endpoint("/metrics", metrics, kinds=["text/plain"]),
        *routes,
    ]
    page = [Route("/", _first_page), Mount("/page", StaticFiles(directory=_PAGE))]
    return Starlette(
        routes=[*served, *description_routes(served, {"method": answering.models, "model": answering.models}), *page],
        middleware=[
            Middleware(Counted, registry=registry, name="answers"),
            Middleware(Guard, admission=admission),
            Middleware(BoundedBodies, most=answering.limits.body),
        ],
        exception_handlers={HTTPException: _refused, Problem: _refused, Exception: _refused},
    )


async def _first_page(_: Request) -> Response:
    return FileResponse(_PAGE / "index.html")


async def _refused(_: Request, error: Exception) -> Response:
    """The error, in OpenAI's form."""
    if isinstance(error, HTTPException):
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
        problem = Problem(error.status_code, error.detail, code, error.headers)
    else:
        problem = as_problem(error)
    return refusal(problem)
