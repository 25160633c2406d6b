"""An OpenAI-compatible server on loopback that drips, floods, asks to be left alone, or sends no completion."""

import gzip
import json
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Any

__all__ = ["ATTACKS", "NO_COMPLETION", "HostileLM", "completion"]


def completion(text: str) -> bytes:
    """A reply as it should be, with that text."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 7, "completion_tokens": 1}
    return json.dumps({"model": "m", "choices": [choice], "usage": usage}).encode()


NO_COMPLETION = {
    "nothing": b"{}",
    "no_choices": b'{"model": "m", "choices": []}',
    "null_choices": b'{"model": "m", "choices": null}',
    "no_message": b'{"model": "m", "choices": [{"index": 0, "finish_reason": "stop"}]}',
    "null_message": b'{"model": "m", "choices": [{"index": 0, "message": null}]}',
}
"""Bodies that are JSON and no completion."""

_BOMB = gzip.compress(b" " * 100_000_000)


class HostileLM(ThreadingHTTPServer):
    """Answers a request as the first part of its path says, by one of ATTACKS; otherwise with a completion.

    Attributes:
        over: Ends what drips.
        authorization: That header of each request.
    """

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.over = Event()
        self.authorization: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def behaviour(self, path: str) -> str:
        """How the request is answered."""
        return path.split("/")[1]

    def reply(self, body: bytes) -> str:
        """What a completion says."""
        return "Rome"


class _Handler(BaseHTTPRequestHandler):
    server: HostileLM

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.authorization.append(self.headers["authorization"])
        what = self.server.behaviour(self.path)
        with suppress(OSError):  # the client may have gone
            if what in _TALKS:
                _TALKS[what](self)
            else:
                self.send(NO_COMPLETION.get(what) or completion(self.server.reply(body)))

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def drip(self) -> None:
        while not self.server.over.wait(0.05):
            self.wfile.write(b" ")

    def drip_body(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000000")
        self.end_headers()
        self.drip()

    def drip_head(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
        self.drip()

    def endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        while not self.server.over.is_set():
            self.wfile.write(b" " * 2**16)

    def bomb(self) -> None:
        self.send(_BOMB, content_encoding="gzip")

    def bomb_of_bombs(self) -> None:
        self.send(gzip.compress(_BOMB), content_encoding="gzip, gzip")

    def for_years(self) -> None:
        self.send(b'{"error": {"message": "slow down"}}', 429, retry_after="99999999")

    def for_seconds(self) -> None:
        self.send(b'{"error": {"message": "slow down"}}', 429, retry_after="30")

    def log_message(self, *args: Any) -> None:
        pass


_TALKS = {
    talk.__name__: talk
    for talk in (
        _Handler.drip_body,
        _Handler.drip_head,
        _Handler.endless,
        _Handler.bomb,
        _Handler.bomb_of_bombs,
        _Handler.for_years,
        _Handler.for_seconds,
    )
}
ATTACKS = (*_TALKS, *NO_COMPLETION)
"""All that it does beside completions, by name."""
