"""What the answers server says of itself: /openapi.json, and /docs, a page that loads nothing from elsewhere."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from retrieval.serving import openapi
from retrieval.serving.requests import json_reply

__all__ = ["Endpoint", "description_routes"]

_PAGE = Path(__file__).with_name("description.html")


class Fault(BaseModel):
    """What was wrong."""

    message: str
    type: str
    param: str | None
    code: str


class Failure(BaseModel):
    """The form of every error."""

    error: Fault


class Endpoint(openapi.Endpoint):
    """A route with the errors that such a route has here.

    Args:
        path, handler: See `retrieval.serving.openapi.Endpoint`; likewise `types`.
        own_errors: Whether errors have this server's form; else that of the protocol which the route speaks.
    """

    def __init__(
        self,
        path: str,
        handler: Callable[[Request], Awaitable[Response]],
        *,
        own_errors: bool = True,
        **types: Any,
    ) -> None:
        if types.get("takes"):
            codes = [400, 401, 403, 404, 408, 413, 415, 429, 500, 502, 503, 504]
        elif types.get("query"):
            codes = [400, 401, 403, 404]
        else:
            codes = [401, 403, 404] if "{" in path else [401, 403]
        super().__init__(path, handler, codes=codes, failure=Failure if own_errors else None, **types)


def description_routes(routes: Sequence[BaseRoute], choices: Mapping[str, Sequence[str]]) -> list[BaseRoute]:
    """The routes that describe a server; for what it takes see `retrieval.serving.openapi.described`."""
    document = openapi.described("Answers", routes, choices)
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{}, {"token": []}]  # the token is asked for where the server has one
    template = jinja2.Environment(autoescape=True).from_string(_PAGE.read_text("utf-8"))
    page = template.render(paths=document["paths"], schemas=document["components"]["schemas"])

    async def told(_: Request) -> Response:
        return json_reply(document)

    async def docs(_: Request) -> Response:
        return HTMLResponse(page)

    return [Route("/openapi.json", told), Route("/docs", docs)]
