"""HTTP for LM calls, bounded: a reply has a size and the call an end, however slowly or cleverly a server sends.

DSPy's own engines speak HTTP through lm15's transports, which wait for each single byte anew and unpack whatever comes.
"""

import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

from dspy._vendor.lm15.transports import StdlibAsyncTransport, StdlibTransport, TransportRequest
from dspy.lm15 import ProviderError

from odqa.deadlines import left

__all__ = ["LARGEST", "AsyncTransport", "Transport"]

LARGEST = 8 * 2**20
"""Bytes of a reply, unpacked. The longest that models write are some hundred thousand."""
_AT_ONCE = 16 * 1024  # bytes that are received at once: packed, they are a thousand times as many at most
_CONNECTIONS = 4096  # more than calls are ever under way


class Transport(StdlibTransport):
    """lm15's transport with bounds, for synchronous calls.

    Args:
        headers: Further headers of every request, each in place of one of the same name.
        timeouts: Arguments of lm15's transport.
    """

    def __init__(self, *, headers: dict[str, str], **timeouts: Any) -> None:
        super().__init__(max_connections=_CONNECTIONS, **timeouts)
        self._headers = headers

    def stream(self, request: TransportRequest) -> Any:
        response = super().stream(_with(request, self._headers))
        try:
            _refuse_packed_twice(response)
        except ProviderError:
            response.close()
            raise
        response._chunks = _bounded(response._chunks)
        return response

    def _open(self, *args: Any, **kwargs: Any) -> Any:
        connection = super()._open(*args, **kwargs)
        connection.sock = _Socket(connection.sock)
        return connection


class AsyncTransport(StdlibAsyncTransport):
    """The same for asynchronous calls, whose end their engine sees to."""

    def __init__(self, *, headers: dict[str, str], **timeouts: Any) -> None:
        super().__init__(max_connections=_CONNECTIONS, **timeouts)
        self._headers = headers

    async def _do_stream(self, request: TransportRequest) -> Any:
        response = await super()._do_stream(_with(request, self._headers))
        try:
            _refuse_packed_twice(response)
        except ProviderError:
            await response.aclose()
            raise
        response._chunks = _abounded(response._chunks)
        return response


class _Socket:
    """A socket that waits no longer than until the end of the call that reads it."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._timeout: float | None = None

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds

    def recv(self, size: int) -> bytes:
        self._sock.settimeout(left(self._timeout))
        return self._sock.recv(min(size, _AT_ONCE))

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(left(self._timeout))
        self._sock.sendall(data)

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        self._sock.close()


def _with(request: TransportRequest, headers: dict[str, str]) -> TransportRequest:
    if headers:
        new = {name.lower() for name in headers}
        request.headers = [pair for pair in request.headers if pair[0].lower() not in new] + list(headers.items())
    return request


def _refuse_packed_twice(response: Any) -> None:
    packed = [part for value in response.headers_all("content-encoding") for part in value.split(",") if part.strip()]
    if len(packed) > 1:
        raise ProviderError("the server packed its reply more than once, which is not unpacked")


def _too_large(size: int) -> ProviderError:
    return ProviderError(f"the server's reply has more than {LARGEST:,} bytes ({size:,} were read)")


def _bounded(chunks: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > LARGEST:
            raise _too_large(size)
        yield chunk


async def _abounded(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > LARGEST:
            raise _too_large(size)
        yield chunk
