"""An OpenAI-compatible server on loopback that answers after a fixed time, from the built-in extractive reader.

    with stand_in() as address:
        lm = dspy.LM("openai/gpt-4o-mini", api_base=f"{address}/0.2", api_key="none", cache=False)

The path of the address says after how many seconds it answers. The server is a process of its own, as a real one is:
its work does not slow down the program that is measured. It keeps its replies, so that requests that are made again
cost it next to nothing: ask everything once at `/0` before you measure.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dspy.lm15 import request_from_openai_chat

from lms.extractive import ExtractiveReader

MODEL = "openai/gpt-4o-mini"
"""A model that DSPy has a price for: for one that it does not know it searches its whole list at every call."""


@contextmanager
def stand_in() -> Iterator[str]:
    """Serve until the block ends; yields the address without the seconds."""
    server = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.terminate()
        server.wait()


class Replies:
    """The bodies of the replies, by the bodies of the requests."""

    def __init__(self) -> None:
        self._reader = ExtractiveReader()
        self._known: dict[bytes, bytes] = {}

    def __call__(self, body: bytes) -> bytes:
        if body not in self._known:
            self._known[body] = self._make(json.loads(body))
        return self._known[body]

    def _make(self, request: dict) -> bytes:
        response = self._reader.complete(request_from_openai_chat(request))
        message = {"role": "assistant", "content": response.message.text}
        usage = {
            "prompt_tokens": response.usage.input_tokens,
            "completion_tokens": response.usage.output_tokens,
            "total_tokens": response.usage.total_tokens,
        }
        reply = {
            "id": "stand-in",
            "object": "chat.completion",
            "created": 0,
            "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": usage,
        }
        payload = json.dumps(reply).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
        return head.encode() + payload


class Connection(asyncio.Protocol):
    """A connection that stays open; one request after the other."""

    def __init__(self, replies: Replies) -> None:
        self._replies = replies
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        arrived = asyncio.get_running_loop().time()
        self._received += data
        head, gap, body = self._received.partition(b"\r\n\r\n")
        length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), None)
        if not gap or length is None or len(body) < int(length.split(b":")[1]):
            return
        self._received = b""
        seconds = float(head.split(b"/", 2)[1])
        asyncio.get_running_loop().call_at(arrived + seconds, self._transport.write, self._replies(body))


async def serve() -> None:
    """Serve on a free port, which is printed."""
    replies = Replies()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(replies), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
