"""Counts and times of requests, as Prometheus reads them."""

import time

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Counted"]


class Counted:
    """ASGI middleware that counts and times requests, by the path of their route, in counts that begin with `name`."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry, name: str) -> None:
        self._app = app
        self._requests = Counter(f"{name}_requests", "Requests answered", ["path", "status"], registry=registry)
        self._seconds = Histogram(f"{name}_request_seconds", "Time to answer requests", ["path"], registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        began = time.perf_counter()
        try:
            await self._app(scope, receive, watched)
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self._requests.labels(path, status).inc()
            self._seconds.labels(path).observe(time.perf_counter() - began)
