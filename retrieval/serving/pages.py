"""Pages that somebody visits: they can have a browser send requests to the servers of this machine."""

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from retrieval.serving.requests import json_reply

__all__ = ["PORTS", "UNKNOWN_NAME", "NoOtherPages", "called_as", "is_loopback", "names_of", "netloc"]

PORTS = {"http": 80, "https": 443}
"""Where a URL names none, by its scheme."""
UNKNOWN_NAME = "the server is not known under this name; its --allow-host names others"
"""What a request is told that `called_as` finds no name in."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class NoOtherPages:
    """ASGI middleware that turns away what a page of another site has a browser send.

    Browsers say so of such a request. Where the page made the name of its own site point to this machine (DNS
    rebinding) they do not, but the request calls the server by that name.

    Args:
        app: The application.
        names: The names by which a request may call the server; None for any.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str] | None) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (why := self._wrong(Headers(scope=scope))):
            await json_reply({"error": True, "message": why}, 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _wrong(self, headers: Headers) -> str | None:
        if self._names is not None and called_as(headers, self._names) is None:
            return UNKNOWN_NAME
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):  # a site has many servers
            return "pages of other sites may not search"
        return None


def called_as(headers: Headers, names: frozenset[str] | None) -> tuple[str, int | None] | None:
    """Host and port by which a request calls the server; None where it has no such thing, several, or a host that is
    not among the names (None for any)."""
    hosts = headers.getlist("host")
    host, port = (netloc(f"//{hosts[0]}") if len(hosts) == 1 else None) or (None, None)
    return (host, port) if host and (names is None or host in names) else None


def names_of(host: str, further: Iterable[str]) -> frozenset[str]:
    """The names by which a request may call a server that listens on `host`, in lower case."""
    return _LOOPBACK.union(name.lower() for name in (host, *further))


def netloc(url: str) -> tuple[str | None, int | None] | None:
    """Host and port of a URL; None where it has no such thing."""
    try:
        parts = urlsplit(url)
        return parts.hostname, parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
