"""Runs servers on this machine: in a thread, or in a process of their own."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeVar

import httpx
from support.patience import eventually

if TYPE_CHECKING:
    import uvicorn

__all__ = ["Started", "listens", "running", "started", "under_way", "url_in"]

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


@contextmanager
def under_way(server: "uvicorn.Server", listener: socket.socket) -> Iterator[str]:
    """The URL of uvicorn's server, which answers on the socket until the block ends."""
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        eventually(lambda: server.started)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


class Started(NamedTuple):
    """One of our servers in a process of its own, with what it reads and writes."""

    process: "subprocess.Popen[str]"
    url: str
    stdin: TextIO
    stdout: TextIO
    stderr: TextIO


@contextmanager
def started(code: str, *arguments: str) -> Iterator[Started]:
    """A process that runs the code, in which it serves, once it listens."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        yield Started(process, url_in(process.stderr), process.stdin, process.stdout, process.stderr)


def url_in(log: Iterator[str]) -> str:
    """The URL in the line that our servers write when they listen; the lines up to it are read."""
    line = next((line for line in log if "Serving on" in line), "")
    assert line, "it does not listen"
    return line.split("Serving on ")[1].split(",")[0]


def listens(url: str) -> bool:
    """Whether a server listens there."""
    try:
        socket.create_connection(("127.0.0.1", httpx.URL(url).port)).close()
    except ConnectionRefusedError:
        return False
    return True
