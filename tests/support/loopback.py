"""Runs the tests' HTTP servers on this machine."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import TypeVar

import httpx

__all__ = ["listens", "running"]

Server = TypeVar("Server", bound=HTTPServer)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Serve requests until the block ends; no thread or socket is left behind."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def listens(url: str) -> bool:
    """Whether a server listens there."""
    try:
        socket.create_connection(("127.0.0.1", httpx.URL(url).port)).close()
    except ConnectionRefusedError:
        return False
    return True
