"""What the server says of itself: /openapi.json, from its routes and the types of what they take and give, and /docs, a
page over it that loads nothing from other hosts."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import jinja2
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from retrieval.serving.requests import json_reply

__all__ = ["Endpoint", "description_routes"]

_HERE = Path(__file__).parent
_REFERENCE = "#/components/schemas/{model}"


class Fault(BaseModel):
    """What was wrong."""

    message: str
    type: str
    param: str | None
    code: str


class Failure(BaseModel):
    """The form of every error."""

    error: Fault


class Endpoint(Route):
    """A route that is described: by the docstring of its handler, and the types of what it takes and gives.

    Args:
        path: As Starlette has it.
        handler: Answers a request.
        takes: The form of the body; a route that has one is for POST.
        gives: The form of the reply; None for JSON of a form that others define, or that is no JSON.
        query: Names of the parameters behind the path.
        kinds: The media types of the reply.
        own_errors: Whether errors have this server's form; else that of the protocol which the route speaks.
    """

    def __init__(
        self,
        path: str,
        handler: Callable[[Request], Awaitable[Response]],
        *,
        takes: type[BaseModel] | None = None,
        gives: type[BaseModel] | None = None,
        query: Sequence[str] = (),
        kinds: Sequence[str] = ("application/json",),
        own_errors: bool = True,
    ) -> None:
        super().__init__(path, handler, methods=["POST" if takes else "GET"])
        self.summary = (inspect.getdoc(handler) or "").partition("\n\n")[0]
        self.takes, self.gives, self.query, self.kinds, self.own_errors = takes, gives, query, kinds, own_errors

    def operation(self, choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The route in OpenAPI's terms.

        Args:
            choices: The values that a part of a path may have, by its name.
        """
        inside: list[dict[str, Any]] = [
            {"name": name, "in": "path", "required": True, "schema": _text(choices.get(name))}
            for name in self.param_convertors
        ]
        behind: list[dict[str, Any]] = [{"name": name, "in": "query", "schema": _text()} for name in self.query]
        schema = _reference(self.gives) if self.gives else {"type": "object"}
        good = {kind: {"schema": schema} if kind == "application/json" else {} for kind in self.kinds}
        codes = [401, 403, 404] if inside else [401, 403]
        if self.takes or behind:
            codes = [400, 401, 403, 404, 408, 413, 415, 429, 500, 502, 503, 504] if self.takes else [400, *codes, 404]
        replies: dict[str, Any] = {"200": {"description": "OK", "content": good}}
        for code in codes if self.own_errors else ():
            failure = {"application/json": {"schema": _reference(Failure)}}
            replies[str(code)] = {"description": HTTPStatus(code).phrase, "content": failure}
        if not self.own_errors:
            replies["default"] = {"description": "An error, in the protocol's form"}
        operation: dict[str, Any] = {"summary": self.summary, "responses": replies}
        if inside or behind:
            operation["parameters"] = inside + behind
        if self.takes:
            content = {"application/json": {"schema": _reference(self.takes)}}
            operation["requestBody"] = {"required": True, "content": content}
        return operation


def description_routes(routes: Iterable[BaseRoute], choices: Mapping[str, Sequence[str]]) -> list[BaseRoute]:
    """The routes that describe a server.

    Args:
        routes: Its routes; the endpoints among them are described.
        choices: The values of fields and of parts of a path that name what the server has, by their names.
    """
    document = _document([route for route in routes if isinstance(route, Endpoint)], choices)
    template = jinja2.Environment(autoescape=True).from_string((_HERE / "description.html").read_text("utf-8"))
    page = template.render(paths=document["paths"], schemas=document["components"]["schemas"])

    async def openapi(_: Request) -> Response:
        return json_reply(document)

    async def docs(_: Request) -> Response:
        return HTMLResponse(page)

    return [Route("/openapi.json", openapi), Route("/docs", docs)]


def _document(endpoints: Sequence[Endpoint], choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The server in OpenAPI's terms. Bearer tokens are asked for where the server has one."""
    forms = {endpoint.takes for endpoint in endpoints if endpoint.takes}
    replies = {Failure, *(endpoint.gives for endpoint in endpoints if endpoint.gives)}
    of = [*((form, "validation") for form in forms), *((reply, "serialization") for reply in replies)]
    schemas = models_json_schema(sorted(of, key=str), ref_template=_REFERENCE)[1]["$defs"]  # type: ignore[arg-type]
    for form in {endpoint.takes for endpoint in endpoints if endpoint.takes and endpoint.own_errors}:
        for name, field in schemas[form.__name__].get("properties", {}).items():
            if name in choices and field.get("type") == "string":
                field["enum"] = list(choices[name])
    return {
        "openapi": "3.1.0",
        "info": {"title": "Answers", "version": "1"},
        "paths": {
            endpoint.path_format: {"post" if endpoint.takes else "get": endpoint.operation(choices)}
            for endpoint in endpoints
        },
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _text(choices: Sequence[str] | None = None) -> dict[str, Any]:
    return {"type": "string", "enum": list(choices)} if choices else {"type": "string"}


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=model.__name__)}
