"""HTTP servers of the tests, on this machine and while a block lasts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import TypeVar

__all__ = ["running"]

Server = TypeVar("Server", bound=HTTPServer)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server answers inside the block; nothing of it is left behind."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
