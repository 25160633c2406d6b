"""An HTTP server on loopback whose answers a test writes down, one per request."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.loopback import running

__all__ = ["Behaviour", "Handler", "ScriptedServer", "serving"]


class ScriptedServer(ThreadingHTTPServer):
    """Takes one behaviour per request; the last one answers all further requests.

    Attributes:
        requests: What arrived: "GET /path?query".
        headers: The headers of each request, with lower-cased names.
    """

    def __init__(self, *behaviours: "Behaviour") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours = list(behaviours)
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ScriptedServer
    body: bytes

    def do_GET(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with self.server.lock:
            self.server.requests.append(f"{self.command} {self.path}")
            self.server.headers.append({key.lower(): value for key, value in self.headers.items()})
            behaviours = self.server.behaviours
            behaviour = behaviours.pop(0) if len(behaviours) > 1 else behaviours[0]
        behaviour(self)

    do_POST = do_HEAD = do_GET

    def answer(self, status: int, body: bytes = b"", **headers: Any) -> None:
        """Answer and close the connection, whatever length the headers promise."""
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


Behaviour = Callable[[Handler], object]


def serving(*behaviours: Behaviour) -> AbstractContextManager[ScriptedServer]:
    return running(ScriptedServer(*behaviours))
