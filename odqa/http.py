"""What the clients of HTTP servers have in common: URLs, retries, and how errors show what a server said."""

import random
import re
from base64 import b64encode
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpcore
import httpx

from odqa.deadlines import left
from odqa.errors import UsageError
from odqa.secrets import keep_secret

__all__ = [
    "TRY_AGAIN",
    "LargeReply",
    "asked_wait",
    "bounded",
    "one_line",
    "parse_url",
    "seconds_to_wait",
    "status_text",
]

TRY_AGAIN = {408, 429, 500, 502, 503, 504}
"""Status codes after which the same request may succeed later."""


def parse_url(url: str, example: str) -> tuple[httpx.URL, tuple[str, str] | None]:
    """The URL without user, password and fragment; and user and password, if there are any.

    Args:
        url: As the caller of the program gave it.
        example: A good URL, for the message of the error.

    Raises:
        UsageError: it is no HTTP URL; the message shows neither its password nor its query.
    """
    try:
        parsed = httpx.URL(url)
        good = parsed.scheme in ("http", "https") and parsed.host and (parsed.port is None or 0 < parsed.port < 2**16)
    except httpx.InvalidURL:
        good = False
    if not good:
        shown = re.sub(r"^(\w+://)?.*@", r"\1", url.partition("?")[0], flags=re.DOTALL)
        raise UsageError(f"{shown!r} is no URL that begins with http:// or https:// and names a host: try {example}")
    auth = (parsed.username, parsed.password) if parsed.userinfo else None
    keep_secret([parsed.password, b64encode(f"{parsed.username}:{parsed.password}".encode()).decode()], named=True)
    return parsed.copy_with(userinfo=b"", fragment=None), auth


def asked_wait(headers: httpx.Headers) -> float:
    """How many seconds the server asks to wait: its Retry-After, a number or a date; 0.0 or less if it does not."""
    value = headers.get("retry-after", "")
    if re.fullmatch(r"\d{1,9}", value, re.ASCII):
        return float(value)
    try:
        wait: float = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):  # no date, or one without a time zone
        return 0.0
    return wait


def seconds_to_wait(retry: int, backoff: float, asked: float, longest: float) -> float:
    """How long to wait before a retry: longer each time, less a random part so that clients do not all come at once.

    Args:
        retry: The number of the retry, counted from 0.
        backoff: Seconds before the first retry, doubled for each further one, less up to a half.
        asked: What the server asks for, which counts if it is more.
        longest: The most, whatever the server asks for.
    """
    return min(max(asked, backoff * 2.0**retry * random.uniform(0.5, 1)), longest)


def status_text(code: int) -> str:
    """The status with its name, such as "404 Not Found"."""
    return f"{code} {httpx.codes.get_reason_phrase(code) or '(a status that HTTP does not name)'}"


def one_line(value: Any) -> str:
    """What a server or a library said, on one line and not too long, for an error message."""
    return " ".join(str(value).split())[:200]


class LargeReply(httpx.RequestError):
    """A reply has more bytes than are read."""


def bounded(client: httpx.Client, most: int, *, of_redirects: bool = False) -> httpx.Client:
    """The client, which waits for no bytes beyond the end of a block of `odqa.deadlines.until`: neither for those of a
    reply's body nor for those of its head, of redirects or of proxies.

    HTTPX bounds each wait and not their sum, and has no place for another network. So this sets it in the pools of
    connections of HTTPCore, which has.

    Args:
        client: The client.
        most: Bytes of a reply, unpacked, and of the body of a redirect; with more, a request raises `LargeReply`.
        of_redirects: Whether only those of redirects are bounded, for a client that streams what it asks for.
    """
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            transport._pool._network_backend = _Network(transport._pool._network_backend)

    def read(response: httpx.Response) -> None:
        if of_redirects and not response.has_redirect_location:
            return
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > most:
                raise LargeReply(f"sent more than {most:,} bytes", request=response.request)
        response._content = bytes(body)

    client.event_hooks = {"response": [read]}
    return client


class _Network(httpcore.NetworkBackend):
    """Connects as another one does."""

    def __init__(self, network: httpcore.NetworkBackend) -> None:
        self._network = network

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *args: Any, **kwargs: Any) -> Any:
        return _Stream(self._network.connect_tcp(host, port, _wait(timeout), *args, **kwargs))


class _Stream(httpcore.NetworkStream):
    """A connection whose waits end with the block."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _wait(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _wait(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: Any = None, timeout: float | None = None) -> "_Stream":
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _wait(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._stream.close()


def _wait(timeout: float | None) -> float | None:
    try:
        return left(timeout)
    except TimeoutError as error:
        raise httpcore.ReadTimeout(str(error)) from error
