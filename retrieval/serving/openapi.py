"""What a server says of itself on /openapi.json: made of its routes, and of the types of what they take and give."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

__all__ = ["Endpoint", "described"]

_REFERENCE = "#/components/schemas/{model}"


class Endpoint(Route):
    """A route that is described by the docstring of its handler and by the types of what it takes and gives.

    Args:
        path: The path, as Starlette has it.
        handler: Answers a request.
        takes: The form of the body; a route that has one is for POST, any other for GET.
        query: The form of the parameters behind the path.
        gives: The form of the reply; None for JSON of a form that others define, or that is no JSON.
        kinds: The media types of the reply.
        failure: The form of an error; None where a protocol has a form of its own for errors.
        codes: The statuses of the errors that have this form.
    """

    def __init__(
        self,
        path: str,
        handler: Callable[[Request], Awaitable[Response]],
        *,
        takes: type[BaseModel] | None = None,
        query: type[BaseModel] | None = None,
        gives: type[BaseModel] | None = None,
        kinds: Sequence[str] = ("application/json",),
        failure: type[BaseModel] | None = None,
        codes: Sequence[int] = (),
    ) -> None:
        self.verb = "post" if takes else "get"
        super().__init__(path, handler, methods=[self.verb.upper()])
        self.summary = (inspect.getdoc(handler) or "").partition("\n\n")[0]
        self.takes, self.query, self.gives, self.kinds = takes, query, gives, kinds
        self.failure, self.codes = failure, codes

    def operation(self, choices: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The route in OpenAPI's terms; `choices` has the values that a part of its path may have, by its name."""
        parameters: list[dict[str, Any]] = []
        for name in self.param_convertors:
            text = {"type": "string"} | ({"enum": list(choices[name])} if name in choices else {})
            parameters.append({"name": name, "in": "path", "required": True, "schema": text})
        form = self.query.model_json_schema() if self.query else {}
        for name, schema in form.get("properties", {}).items():
            required = name in form.get("required", ())
            parameters.append({"name": name, "in": "query", "required": required, "schema": schema})
        schema = _reference(self.gives) if self.gives else {"type": "object"}
        good = {kind: {"schema": schema} if kind == "application/json" else {} for kind in self.kinds}
        replies: dict[str, Any] = {"200": {"description": "OK", "content": good}}
        for code in self.codes if self.failure else ():
            replies[str(code)] = {"description": HTTPStatus(code).phrase, "content": _json(self.failure)}
        if not self.failure:
            replies["default"] = {"description": "An error, in the protocol's form"}
        operation: dict[str, Any] = {"summary": self.summary, "responses": replies}
        if parameters:
            operation["parameters"] = parameters
        if self.takes:
            operation["requestBody"] = {"required": True, "content": _json(self.takes)}
        return operation


def described(
    title: str, routes: Iterable[BaseRoute], choices: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Any]:
    """A server in OpenAPI's terms.

    Args:
        title: The name of the server.
        routes: Its routes; the endpoints among them are described.
        choices: The values of fields and of parts of a path that name what the server has, by their names.
    """
    choices = choices or {}
    endpoints = [route for route in routes if isinstance(route, Endpoint)]
    forms = {endpoint.takes for endpoint in endpoints if endpoint.takes}
    replies = {form for endpoint in endpoints for form in (endpoint.gives, endpoint.failure) if form}
    types = [*((form, "validation") for form in forms), *((reply, "serialization") for reply in replies)]
    schemas = models_json_schema(sorted(types, key=str), ref_template=_REFERENCE)[1]["$defs"]  # type: ignore[arg-type]
    for form in {endpoint.takes for endpoint in endpoints if endpoint.takes and endpoint.failure}:
        for name, field in schemas[form.__name__].get("properties", {}).items():
            if name in choices and field.get("type") == "string":
                field["enum"] = list(choices[name])
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path_format, {})[endpoint.verb] = endpoint.operation(choices)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _json(model: type[BaseModel] | None) -> dict[str, Any]:
    return {"application/json": {"schema": _reference(model)}} if model else {}


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(model=model.__name__)}
