"""Clients that hold a connection: each is cut off, and others are served meanwhile."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from support.loopback import under_way
from support.patience import PATIENCE, eventually

from retrieval import Memory, Passage, Retriever
from retrieval.remote.server import ServerLimits, make_app, uvicorn_config
from retrieval.serving.listening import config

pytestmark = pytest.mark.needs("uvicorn")

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"


class Long(Retriever):
    """Finds more than the system's buffers hold."""

    def search(self, query: str, k: int) -> list[Passage]:
        return [Passage("long", "x" * 2**24, score=1.0)]


class Streaming:
    """Sends without end until it is told that the client is gone."""

    def __init__(self) -> None:
        self.told = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            return
        await receive()
        gone = asyncio.ensure_future(receive())
        await send({"type": "http.response.start", "status": 200})
        while not gone.done():
            await send({"type": "http.response.body", "body": b"more", "more_body": True})
            await asyncio.sleep(0)
        if gone.result()["type"] == "http.disconnect":
            self.told.set()


def serving(retriever: Retriever, timeout: float = 0.2) -> AbstractContextManager[uvicorn.Server]:
    """The search server in a thread, as `serve` sets it up."""
    limits = ServerLimits(timeout=timeout)
    return running(uvicorn_config(make_app(retriever, limits), limits))


@contextmanager
def running(made: uvicorn.Config) -> Iterator[uvicorn.Server]:
    server = uvicorn.Server(made)
    listener = socket.create_server(("127.0.0.1", 0))
    server.port = listener.getsockname()[1]
    with under_way(server, listener):
        yield server


@pytest.fixture(scope="module")
def server() -> Iterator[uvicorn.Server]:
    with serving(Memory([Passage("a", "word")])) as server:
        yield server


def connect(server: uvicorn.Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def until_closed(connection: socket.socket) -> bytes:
    """What comes before the server closes the connection."""
    reply = b""
    try:
        while data := connection.recv(2**16):
            reply += data
    except ConnectionResetError:
        pass
    return reply


@pytest.mark.parametrize("sent", [b"", b"GET /?query=word HTTP/1.1\r\nHost:"])
def test_one_that_stays_silent_is_cut_off(server: uvicorn.Server, sent: bytes) -> None:
    with connect(server) as connection:
        connection.sendall(sent)
        assert until_closed(connection) == b""


def test_a_body_that_does_not_arrive_is_a_408(server: uvicorn.Server) -> None:
    with connect(server) as connection:
        connection.sendall(HEAD + b'{"query":')
        reply = until_closed(connection)
    assert reply.startswith(b"HTTP/1.1 408")
    assert b"the request did not arrive within 0.2 s" in reply
    assert b"connection: close" in reply.lower()


def test_a_body_that_breaks_off_is_no_fault_of_ours(server: uvicorn.Server, caplog: pytest.LogCaptureFixture) -> None:
    with connect(server) as connection:
        connection.sendall(HEAD)
    url = f"http://127.0.0.1:{server.port}"
    eventually(lambda: 'path="/",status="400"' in httpx.get(f"{url}/metrics", trust_env=False).text)
    assert "Traceback" not in caplog.text


def test_a_head_without_end_is_not_kept(server: uvicorn.Server) -> None:
    with connect(server) as connection, pytest.raises(ConnectionError):
        connection.sendall(b"GET /?query=" + b"a" * 2**26)


def test_more_connections_than_there_may_be_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retrieval.serving.listening._files", lambda: 8)
    with serving(Memory([Passage("a", "word")]), timeout=PATIENCE) as server:
        held = [connect(server) for _ in range(4)]
        eventually(lambda: len(server.server_state.connections) == 4)
        with connect(server) as connection:
            assert until_closed(connection) == b""
        for connection in held:
            connection.close()
        eventually(lambda: not server.server_state.connections)
        url = f"http://127.0.0.1:{server.port}"
        assert httpx.get(url, params={"query": "word"}, trust_env=False).status_code == 200


def test_a_reply_that_nobody_reads_is_not_kept() -> None:
    with serving(Long(), timeout=1.0) as server, connect(server) as connection:
        connection.sendall(b"GET /?query=word HTTP/1.1\r\nHost: x\r\n\r\n")
        eventually(lambda: server.server_state.connections)
        eventually(lambda: not server.server_state.connections)


def test_when_a_client_goes_away_all_its_requests_are_told(caplog: pytest.LogCaptureFixture) -> None:
    app = Streaming()
    with running(config(app, seconds=PATIENCE, grace=0.0, body=2**20, head=2**16)) as server:
        with connect(server) as connection:
            connection.sendall(2 * b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            connection.recv(1)
        assert app.told.wait(PATIENCE)
    assert "socket.send() raised exception" not in caplog.text


def test_a_request_that_is_no_http_is_refused_and_no_line_is_logged(
    server: uvicorn.Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")
    for request in (b"\x16\x03\x01 no HTTP\r\n\r\n", b"GET / HTTP/1.1\r\nHost: \0\r\n\r\n"):
        with connect(server) as connection:
            connection.sendall(request)
            assert until_closed(connection).startswith(b"HTTP/1.1 400 ")
    assert caplog.records == []
