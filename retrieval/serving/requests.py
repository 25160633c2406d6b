"""What a request's body holds, read within bounds, and what a reply's is made of."""

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

__all__ = ["as_json", "first_fault", "json_body", "json_reply"]


async def json_body(request: Request, seconds: float) -> bytes:
    """The body of a request, which says that it is JSON.

    Raises:
        HTTPException: it does not arrive in so many seconds, or is not said to be JSON.
    """
    try:
        async with asyncio.timeout(seconds):
            body = await request.body()
    except TimeoutError:
        message = f"the request did not arrive within {seconds:g} s"
        raise HTTPException(408, message, {"Connection": "close"}) from None
    except ClientDisconnect:
        raise HTTPException(400, "the request broke off") from None
    if "json" not in request.headers.get("content-type", ""):
        raise HTTPException(415, "send JSON, with the content type application/json")
    return body


def first_fault(error: ValidationError) -> tuple[str | None, str]:
    """The first field that a form finds fault with, dotted, and the fault; no field where the text is no JSON."""
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return None, f"the body is no JSON: {first['ctx']['error']}"
    return ".".join(map(str, first["loc"])), first["msg"]


def as_json(content: Any) -> bytes:
    """The content in JSON; lone surrogates in it, which UTF-8 cannot hold, become question marks, and what is no
    number null."""
    try:
        return to_json(content, inf_nan_mode="null")
    except PydanticSerializationError:
        return to_json(_sendable(content), inf_nan_mode="null")


def json_reply(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A reply in JSON."""
    return Response(as_json(content), status, headers, "application/json")


def _sendable(content: Any) -> Any:
    if isinstance(content, str):
        return content.encode("utf-8", "replace").decode()
    if isinstance(content, list | tuple):
        return [_sendable(item) for item in content]
    if isinstance(content, dict):
        return {_sendable(name): _sendable(item) for name, item in content.items()}
    return content
