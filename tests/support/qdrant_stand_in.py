"""A stand-in for a Qdrant server on loopback: its HTTP API over Qdrant's own embedded client, with faults.

It shows what only a server can: headers, errors, requests that come twice, collections that are not there. Searching is
the embedded client's, so that it says nothing about a server's graph, quantisation or speed.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock
from typing import Any

from pydantic_core import to_jsonable_python
from qdrant_client import QdrantClient, models
from support.loopback import running
from support.patience import PATIENCE

__all__ = ["StandIn", "serving_qdrant"]

Fault = Callable[["_Handler"], None]


class StandIn(ThreadingHTTPServer):
    """The server.

    Attributes:
        client: The embedded client behind it.
        requests: What arrived: "GET /path".
        keys: The API key of each request, None if it had none.
        key: What it asks for, if anything.
        faults: What is done instead of answering; the first one for the next request, and so on.
        metadata: Whether it keeps the metadata of collections, as servers from 1.16 on do.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.client = QdrantClient(":memory:")
        self.requests: list[str] = []
        self.keys: list[str | None] = []
        self.key: str | None = None
        self.faults: list[Fault] = []
        self.metadata = True
        self.lock = Lock()
        self.end = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StandIn

    def do_GET(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        server = self.server
        with server.lock:
            server.requests.append(f"{self.command} {self.path}")
            server.keys.append(self.headers.get("api-key"))
            fault = server.faults.pop(0) if server.faults else None
        if fault:
            return fault(self)
        if server.key is not None and self.headers.get("api-key") != server.key:
            return self.answer(401, b"Must provide an API key or an Authorization bearer token")
        with server.lock, warnings.catch_warnings(action="ignore"):
            status, result = self._result(json.loads(content or b"{}"))
        return self.answer(status, json.dumps({"result": result, "status": "ok", "time": 0.0}).encode())

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _result(self, body: Any) -> tuple[int, Any]:
        name, rest = re.fullmatch(r"/collections/([^/?]+)/?([^?]*)(?:\?.*)?", self.path).groups()  # type: ignore[union-attr]
        client, there = self.server.client, self.server.client.collection_exists(name)
        if rest == "exists":
            return 200, {"exists": there}
        match self.command, rest:
            case "PUT", "":
                made = models.CreateCollection(**body)
                done: Any = client.create_collection(
                    name,
                    vectors_config=made.vectors,
                    sparse_vectors_config=made.sparse_vectors,
                    metadata=made.metadata if self.server.metadata else None,
                )
            case _ if not there:
                return 404, None
            case "GET", "":
                done = client.get_collection(name)
            case "PATCH", "":
                done = client.update_collection(name, metadata=models.UpdateCollection(**body).metadata)
            case "DELETE", "":
                done = client.delete_collection(name)
            case "PUT", "index":
                done = models.UpdateResult(status=models.UpdateStatus.COMPLETED)
            case "PUT", "points":
                done = client.upsert(name, points=models.PointsList(**body).points)
            case "POST", "points":
                asked = models.PointRequest(**body)
                done = client.retrieve(name, asked.ids, with_payload=asked.with_payload or False)
            case "POST", "points/query/batch":
                done = client.query_batch_points(name, requests=models.QueryRequestBatch(**body).searches)
            case "POST", "points/count":
                done = client.count(name, count_filter=models.CountRequest(**body).filter)
            case "POST", "points/scroll":
                part = models.ScrollRequest(**body)
                found, then = client.scroll(
                    name,
                    scroll_filter=part.filter,
                    limit=part.limit or 10,
                    order_by=part.order_by,
                    offset=part.offset,
                    with_payload=part.with_payload or False,
                )
                done = models.ScrollResult(points=found, next_page_offset=then)
            case "POST", "points/delete":
                done = client.delete(name, points_selector=models.PointIdsList(**body))
            case _:
                return 405, None
        return 200, to_jsonable_python(done, exclude_none=True)

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def refuses(status: int, message: str = "not now", **headers: str) -> Fault:
    """Answers with an error."""
    body = json.dumps({"status": {"error": message}}).encode()
    return lambda handler: handler.answer(status, body, **headers)


def hangs(handler: _Handler) -> None:
    """Does not answer until the test is over."""
    handler.server.end.wait(PATIENCE)
    handler.close_connection = True


def drips(handler: _Handler) -> None:
    """Sends a byte now and then, until the client has gone or the test is over."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.server.end.wait(0.05):
        handler.wfile.write(b" ")


def hangs_up(handler: _Handler) -> None:
    handler.close_connection = True


@contextmanager
def serving_qdrant() -> Iterator[StandIn]:
    """Serve until the block ends."""
    with running(StandIn()) as server:
        try:
            yield server
        finally:
            server.end.set()
            server.client.close()
