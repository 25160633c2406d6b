"""An ASGI application on an address of this machine, by uvicorn, until a signal comes."""

import logging
import math
import signal
import socket
from contextlib import suppress

from odqa.errors import UsageError
from odqa.extras import needing
from odqa.printable import written_out

with needing("serve"):
    import uvicorn
    from starlette.types import ASGIApp

    from retrieval.serving.connections import bounded_protocol

try:
    import resource
except ModuleNotFoundError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

__all__ = ["LOG", "config", "listen", "run"]

LOG = logging.getLogger("uvicorn.error")
"""The servers' own log, on stderr."""


LOG.addFilter(written_out)


def config(app: ASGIApp, *, seconds: float, grace: float, body: int, head: int) -> uvicorn.Config:
    """How uvicorn serves the application: no client can hold a connection for as long as it likes.

    Args:
        app: The application.
        seconds: Longest time between two replies on a connection: to send a request, to answer it, to read the reply.
        grace: Seconds that requests under way have to be answered when the server stops.
        body: Most bytes outside of a request; see `bounded_protocol`.
        head: Most bytes of an incomplete head.
    """
    files = _files()
    return uvicorn.Config(
        app,
        http=bounded_protocol(seconds, body, files // 2),
        backlog=max(1, min(128, files // 8)),  # asyncio accepts as many in one go, more than once before it cuts off
        loop="asyncio",  # uvloop takes a reply to a client that has gone for a fault of the application
        lifespan="on",
        ws="none",
        access_log=False,  # it would show everyone's queries
        use_colors=False,  # uvicorn does not look whether they are wanted
        server_header=False,
        timeout_graceful_shutdown=math.ceil(grace),
        h11_max_incomplete_event_size=head,
    )


def _files() -> int:
    """How many files and sockets this process may open. Where it has no more, asyncio logs each try to accept one."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else 1024
    return limit if limit >= 0 else 2**20  # where it is unlimited


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one. Raises UsageError where that cannot be."""
    if not 0 <= port < 2**16:
        raise UsageError(f"a port is a number from 0 to 65535, not {port}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}, port {port} ({error}); choose another host or port") from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else replies wait 40 ms to be acknowledged
    return listener


def run(server: uvicorn.Server, host: str, port: int, described: str) -> None:
    """Serve until SIGINT or SIGTERM; then stop listening, finish what is under way, and return.

    For the main thread of a program, where signals arrive. The log names the port, and what is `described`. Raises
    UsageError where the host or port cannot be listened on.
    """
    listener = listen(host, port)
    address = f"[{host}]" if ":" in host else host
    LOG.info("Serving on http://%s:%d, %s", address, listener.getsockname()[1], described)
    # When it has stopped, uvicorn raises the signal again: SIGTERM would then end the process on the spot.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with listener, suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)
