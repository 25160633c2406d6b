"""Bodies of requests that are no larger than allowed."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["BoundedBodies"]


class BoundedBodies:
    """ASGI middleware: whoever reads a body of more than so many bytes gets an HTTPException with 413."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = int(dict(scope["headers"]).get(b"content-length", b"0"))
        received = 0

        async def bounded() -> Message:
            nonlocal received
            message = await receive() if said <= self._most else {}
            received += len(message.get("body", b""))
            if max(said, received) > self._most:
                raise HTTPException(413, f"a request is at most {self._most:,} bytes long")
            return message

        await self._app(scope, bounded, send)
