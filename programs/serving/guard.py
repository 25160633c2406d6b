"""Who may ask: those with the token, under a name that is the server's own, from no other page than its own."""

import hmac
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from programs.serving.problems import Problem, refusal
from retrieval import UsageError
from retrieval.serving.pages import PORTS, UNKNOWN_NAME, called_as, is_loopback, names_of, netloc

__all__ = ["Admission", "Guard"]

_OPEN = ("/", "/health", "/docs", "/openapi.json")  # what is shown without a token; the page asks for one
_OPEN_BELOW = "/page/"
_BOUND = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may ask.

    Raises:
        UsageError: the server is not on loopback and has no token, or a name is more than a name.
    """

    host: str = "127.0.0.1"
    """The address that the server listens on."""
    token: str | None = None
    """What requests must carry as `Authorization: Bearer …`."""
    names: tuple[str, ...] = ()
    """Further names of the server, under which a proxy or its network knows it."""

    def __post_init__(self) -> None:
        if not self.token and not is_loopback(self.host):
            raise UsageError(
                f"on {self.host} everyone who reaches this machine could ask and spend: set the environment variable "
                "ODQA_TOKEN to a token that clients must send, or leave out --host"
            )
        for name in self.names:
            if netloc(f"//[{name}]" if ":" in name else f"//{name}") != (name.lower(), None):
                raise UsageError(f"--allow-host takes a name alone, such as answers.example.org, not {name!r}")

    @property
    def hosts(self) -> frozenset[str] | None:
        """The names that a request may call the server; None for any, where it listens on all addresses."""
        if self.host in ("0.0.0.0", "::") and not self.names:  # noqa: S104  # it is asked for, and needs a token
            return None
        return names_of(self.host, self.names)


class Guard:
    """ASGI middleware that turns away who may not ask.

    A page of another site can have a browser send requests here: it has its own `Origin`, and where it made the name of
    its own site point to this machine (DNS rebinding), a `Host` that is not this server's.

    Args:
        app: The application.
        admission: Who may ask.
    """

    def __init__(self, app: ASGIApp, admission: Admission) -> None:
        self._app, self._hosts = app, admission.hosts
        self._token = admission.token.encode() if admission.token else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            problem = self._problem(scope["path"], Headers(scope=scope))
            if problem:
                await refusal(problem)(scope, receive, send)
                return
        await self._app(scope, receive, partial(_send_bound, send))

    def _problem(self, path: str, headers: Headers) -> Problem | None:
        """Why this request is turned away, if it is."""
        host = called_as(headers, self._hosts)
        if host is None:
            return Problem(403, UNKNOWN_NAME, "wrong_host")
        for origin in headers.getlist("origin"):
            if netloc(origin) != (host[0], host[1] or PORTS.get(urlsplit(origin).scheme)):
                return Problem(403, "pages of other sites may not ask", "wrong_origin")
        if self._token is None or path in _OPEN or path.startswith(_OPEN_BELOW):
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode("latin-1"), self._token):
            message = "send the server's token as Authorization: Bearer TOKEN"
            return Problem(401, message, "invalid_api_key", {"WWW-Authenticate": "Bearer"})
        return None


async def _send_bound(send: Send, message: Message) -> None:
    """Send a reply that binds browsers to what comes from this server, unless it says itself what they may load."""
    if message["type"] == "http.response.start":
        headers = MutableHeaders(scope=message)
        for name, value in _BOUND.items():
            headers.setdefault(name, value)
    await send(message)
