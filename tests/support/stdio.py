"""The answers server over stdio, and lines that are no messages or bad ones."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["HANDSHAKE", "HOSTILE_LINES", "line", "over_stdio"]


def line(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


HANDSHAKE = line(
    id=1,
    method="initialize",
    params={"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
) + line(method="notifications/initialized")


def asking(question: object) -> bytes:
    return line(id=2, method="tools/call", params={"name": "answer", "arguments": {"question": question}})


HOSTILE_LINES = {
    "garbage": b"\x00\xff\xfe\n" * 100,
    "no JSON": b"hello\n[]\n123\nnull\n",
    "a line of 10 MB": b"a" * 10**7 + b"\n",
    "a question of 10 MB": asking("a" * 10**7),
    "nesting without end": b"[" * 10**6 + b"\n" + b'{"a":' * 10**5 + b"\n",
    "ids that are none": b'{"jsonrpc":"2.0","id":1e999,"method":"x"}\n{"jsonrpc":"2.0","id":"\\ud800","method":"x"}\n',
    "arguments that are none": asking(7),
}


@contextmanager
def over_stdio() -> Iterator[tuple[subprocess.Popen[bytes], Any, Any]]:
    """The server over stdio, with the pipes to it and from it."""
    command = [sys.executable, "-m", "programs", "serve", "direct", "--lm", "extractive", "--stdio"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process, process.stdin, process.stdout
        finally:
            process.kill()
