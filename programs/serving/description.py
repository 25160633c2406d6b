"""What the server says of itself: /openapi.json, and /docs, a page over it that loads nothing from other hosts."""

from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal

import jinja2
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from programs.serving.chat import Completion
from programs.serving.forms import Ask
from programs.serving.records import Record
from programs.serving.responses import ResponseForm
from retrieval.serving.requests import json_reply

__all__ = ["description_routes"]

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


class Health(BaseModel):
    """That the server answers, and whether it can be asked now."""

    status: Literal["ok", "busy"]
    free: int
    """How many more questions may be in flight; at 0 it is busy, and any more get 503."""


def description_routes(methods: Sequence[str]) -> list[BaseRoute]:
    """The routes of a server that has these methods."""
    document = _document(methods)
    template = jinja2.Environment(autoescape=True).from_string((_HERE / "description.html").read_text("utf-8"))
    page = template.render(paths=document["paths"], schemas=document["components"]["schemas"])

    async def openapi(_: Request) -> Response:
        return json_reply(document)

    async def docs(_: Request) -> Response:
        return HTMLResponse(page)

    async def style(_: Request) -> Response:
        return FileResponse(_HERE / "description.css")

    return [Route("/openapi.json", openapi), Route("/docs", docs), Route("/docs/style.css", style)]


def _document(methods: Sequence[str]) -> dict[str, Any]:
    """The server in OpenAPI's terms. Bearer tokens are asked for where the server has one."""
    forms: list[type[BaseModel]] = [Ask, Completion, ResponseForm]
    replies: list[type[BaseModel]] = [Record, Failure, Health]
    _, schemas = models_json_schema(
        [*((form, "validation") for form in forms), *((reply, "serialization") for reply in replies)],
        ref_template=_REFERENCE,
    )
    question = (400, 401, 403, 404, 408, 413, 415, 429, 500, 502, 503, 504)
    stream: dict[str, Any] = {"text/event-stream": {}}
    for form, field in (("Ask", "method"), ("Completion", "model"), ("ResponseForm", "model")):
        schemas["$defs"][form]["properties"][field]["enum"] = list(methods)
    paths: dict[str, Any] = {
        "/v1/answers": {
            "post": {
                "summary": "A question's answer, with every step that led to it.",
                **_body(Ask),
                "responses": _replies({**_json(Record), **stream}, *question),
            }
        },
        "/v1/methods": {"get": {"summary": "What there is to ask.", "responses": _replies(_OBJECT, 401, 403)}},
        "/v1/prompts/{method}": {
            "get": {
                "summary": "What a method's predictors are shown, as served and before compiling.",
                "parameters": [_parameter("method", methods)],
                "responses": _replies(_OBJECT, 401, 403, 404),
            }
        },
        "/v1/chat/completions": {
            "post": {
                "summary": "OpenAI's chat completions: a method is a model.",
                **_body(Completion),
                "responses": _replies({**_OBJECT, **stream}, *question),
            }
        },
        "/v1/responses": {
            "post": {
                "summary": "OpenAI's responses: a method is a model.",
                **_body(ResponseForm),
                "responses": _replies({**_OBJECT, **stream}, *question),
            }
        },
        "/v1/models": {"get": {"summary": "The methods, as models.", "responses": _replies(_OBJECT, 401, 403)}},
        "/v1/models/{model}": {
            "get": {
                "summary": "One of them.",
                "parameters": [_parameter("model", methods)],
                "responses": _replies(_OBJECT, 401, 403, 404),
            }
        },
        "/health": {"get": {"summary": "Whether the server answers.", "responses": _replies(_json(Health), 403)}},
        "/metrics": {
            "get": {
                "summary": "Counts and times, as Prometheus reads them; no word of any question.",
                "responses": _replies({"text/plain": {}}, 401, 403),
            }
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Answers", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _parameter(name: str, methods: Sequence[str]) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "enum": list(methods)}}


_OBJECT: dict[str, Any] = {"application/json": {"schema": {"type": "object"}}}


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}


def _body(form: type[BaseModel]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": _json(form)}}


def _replies(good: dict[str, Any], *codes: int) -> dict[str, Any]:
    problems = {str(code): {"description": HTTPStatus(code).phrase, "content": _json(Failure)} for code in codes}
    return {"200": {"description": "OK", "content": good}, **problems}
