"""What the search server says of itself on /openapi.json."""

from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

__all__ = ["describe"]

_REFERENCE = "#/components/schemas/{model}"


class Item(BaseModel):
    text: str = Field(description="`Title | text`, or the text alone where there is no title")
    long_text: str = Field(description="the same; clients that simplify read it here")
    pid: str = Field(description="the passage's id")
    rank: int = Field(description="1 for the best")
    score: float
    prob: float = Field(description="softmax of the scores that were returned")


class TopK(BaseModel):
    topk: list[Item]


class TopKs(BaseModel):
    topk: list[list[Item]]


class Health(BaseModel):
    status: Literal["ok"]


class Problem(BaseModel):
    error: Literal[True]
    message: str


def describe(search: type[BaseModel], searches: type[BaseModel]) -> dict[str, Any]:
    """The page, an OpenAPI document.

    Args:
        search: What one query may be.
        searches: What several queries in one request may be.
    """
    models: list[type[BaseModel]] = [search, searches, TopK, TopKs, Health, Problem]
    _, schemas = models_json_schema([(model, "validation") for model in models], ref_template=_REFERENCE)
    fields = search.model_json_schema()["properties"]
    parameters = [
        {"name": name, "in": "query", "required": "default" not in field, "schema": field}
        for name, field in fields.items()
    ]
    refused = [_problem(code) for code in (400, 413, 415, 422, 502, 503)]
    of_body = dict(refused) | dict([_problem(408)])
    of_query = dict(pair for pair in refused if pair[0] not in ("413", "415"))
    one = "The passages found for one query, best first."
    many = "The passages found for each query, best first, in the order of the queries."
    paths: dict[str, Any] = {}
    for path in ("/", "/api/search"):
        get = {"summary": one, "parameters": parameters, "responses": _good(TopK) | of_query}
        paths[path] = {"get": get, "post": {"summary": one, **_body(search), "responses": _good(TopK) | of_body}}
    for path in ("/batch", "/api/search/batch"):
        paths[path] = {"post": {"summary": many, **_body(searches), "responses": _good(TopKs) | of_body}}
    well = "Whether searches are answered; they are not while one search takes longer than the timeout."
    paths["/health"] = {"get": {"summary": well, "responses": _good(Health) | dict([_problem(503)])}}
    counts = {"200": {"description": "OK", "content": {"text/plain": {}}}}
    paths["/metrics"] = {"get": {"summary": "Counts and times, as Prometheus reads them.", "responses": counts}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "ColBERTv2 search server", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
    }


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}


def _body(model: type[BaseModel]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": _json(model)}}


def _good(model: type[BaseModel]) -> dict[str, Any]:
    return {"200": {"description": "OK", "content": _json(model)}}


def _problem(code: int) -> tuple[str, dict[str, Any]]:
    return str(code), {"description": HTTPStatus(code).phrase, "content": _json(Problem)}
