"""The answers server as an ASGI application, with room for further routes."""

from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from programs.serving.answering import Answering
from programs.serving.answers import answer_routes
from programs.serving.problems import Problem, as_problem
from retrieval.serving.counting import Counted
from retrieval.serving.requests import as_json

__all__ = ["make_app"]

_PAGE = Path(__file__).parent / "page"


def make_app(answering: Answering, routes: Sequence[BaseRoute] = ()) -> Starlette:
    """The server as an ASGI application.

    Args:
        answering: Answers the questions.
        routes: Further routes.
    """
    registry = answering.metrics.registry

    async def health(_: Request) -> Response:
        return Response(as_json({"status": "ok"}), media_type="application/json")

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    page: list[BaseRoute] = []
    if _PAGE.is_dir():
        page = [Route("/", _first_page), Mount("/page", StaticFiles(directory=_PAGE))]
    return Starlette(
        routes=[*answer_routes(answering), Route("/health", health), Route("/metrics", metrics), *routes, *page],
        middleware=[Middleware(Counted, registry=registry, name="answers")],
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
    return Response(as_json(problem.body), problem.status, problem.headers, "application/json")
