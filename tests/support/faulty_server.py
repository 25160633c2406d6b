"""An OpenAI-compatible server on loopback that counts paid replies, and fails when a test says so."""

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.loopback import running
from support.patience import PATIENCE

FAULTS = ("429", "500", "timeout", "cut before", "cut within", "no JSON", "no completion")


class Provider:
    """Answers requests with `reply(last message, how often a reply to it was paid for before)`.

    A request of a client that is gone, as one that was killed is, is not answered and not paid.

    Attributes:
        asked: How many requests arrived.
        paid: How many replies were sent, by prompt.
        most: The largest number of requests that were answered at the same time.
        fault: Gives one of FAULTS for the number of a request, from 1; None for a normal reply.
        arrived: Called with the number of each request that arrives.
        bodies: What arrived, in order.
        refuses: Whether a request is refused as invalid, from its body.
        hold: A request that arrives while this is set is never answered.
    """

    def __init__(self, reply: Callable[[str, int], str]) -> None:
        self.reply = reply
        self.asked = 0
        self.paid: Counter[str] = Counter()
        self.most = 0
        self.fault: Callable[[int], str | None] = lambda number: None
        self.arrived: Callable[[int], None] = lambda number: None
        self.bodies: list[dict[str, Any]] = []
        self.refuses: Callable[[dict[str, Any]], bool] = lambda body: False
        self.hold = threading.Event()
        self.url = ""
        self._now = 0
        self._held = 0
        self._lock = threading.Lock()
        self._end = threading.Event()

    @contextmanager
    def running(self) -> Iterator["Provider"]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if _gone(self.connection):
                    self.close_connection = True
                    return
                provider.bodies.append(body)
                provider._answer(self, body)

            def log_message(self, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True  # connections stay open

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # the client is gone: it was killed or it timed out

        with running(Server(("127.0.0.1", 0), Handler)) as server:
            self.url = f"http://127.0.0.1:{server.server_port}/v1"
            try:
                yield self
            finally:
                self._end.set()

    def holds_all(self) -> bool:
        """Whether every request that is under way is held: no further one is paid."""
        with self._lock:
            return self.hold.is_set() and self._now == self._held

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        with self._lock:
            self.asked += 1
            number = self.asked
            self._now += 1
            self.most = max(self.most, self._now)
        self.arrived(number)
        try:
            if self.hold.is_set():
                with self._lock:
                    self._held += 1
                while self.hold.is_set() and not self._end.wait(0.01):
                    pass
                with self._lock:
                    self._held -= 1
                handler.close_connection = True
            else:
                fault = "400" if self.refuses(body) else self.fault(number)
                self._send(handler, body["messages"][-1]["content"], fault)
        finally:
            with self._lock:
                self._now -= 1

    def _send(self, handler: BaseHTTPRequestHandler, prompt: str, fault: str | None) -> None:
        match fault:
            case "400":  # says back what it was sent
                return _send(handler, 400, json.dumps({"error": {"message": f"not now {handler.headers}"}}).encode())
            case "401" | "429" | "500":
                return _send(handler, int(fault), b'{"error": {"message": "not now"}}')
            case "timeout":
                self._end.wait(PATIENCE)  # the client gives up before
                handler.close_connection = True
            case "cut before":
                handler.close_connection = True
            case "cut within":
                handler.close_connection = True
                _send(handler, 200, b'{"choices":', length=1000)
            case "no JSON":
                _send(handler, 200, b"<html>the gateway is glad to see you</html>")
            case "no completion":
                _send(handler, 200, b'{"status": "fine"}')
            case None:
                with self._lock:
                    text = self.reply(prompt, self.paid[prompt])
                    self.paid[prompt] += 1
                _send(handler, 200, _completion(text))
        return None


def _gone(connection: socket.socket) -> bool:
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, length: int | None = None) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(length or len(body)))
    handler.send_header("Retry-After", "0")
    handler.end_headers()
    handler.wfile.write(body)


def _completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "gpt-4o-mini",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }
    ).encode()
