"""An OpenAI-compatible server on loopback that answers after a fixed time, from the built-in extractive reader.

    with stand_in() as address:
        lm = dspy.LM(MODEL, api_base=f"{address}/0.2", api_key="none", cache=False)

The path of the address says after how many seconds it answers. The server is a process of its own, as a real one is:
its work does not slow down the program that is measured. It keeps its replies, so that requests that are made again
cost it next to nothing: ask everything once at `/0` before you measure.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from dspy.lm15 import request_from_openai_chat
from measuring import serving

from lms.extractive import ExtractiveReader

MODEL = "openai/gpt-4o-mini"
"""A model that DSPy has a price for: for one that it does not know it searches its whole list at every call."""

_READER = ExtractiveReader()


@contextmanager
def stand_in() -> Iterator[str]:
    """Serve until the block ends; yields the address without the seconds."""
    with serving([sys.executable, __file__]) as server:
        yield server.url


@cache
def reply(body: bytes) -> bytes:
    """The reply to the body of a request."""
    request = json.loads(body)
    response = _READER.complete(request_from_openai_chat(request))
    completion = {
        "id": "stand-in",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": response.message.text},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": response.usage.input_tokens,
            "completion_tokens": response.usage.output_tokens,
            "total_tokens": response.usage.total_tokens,
        },
    }
    payload = json.dumps(completion).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
    return head.encode() + payload


class Connection(asyncio.Protocol):
    """A connection that stays open; one request after the other."""

    def __init__(self) -> None:
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
        asyncio.get_running_loop().call_at(arrived + seconds, self._transport.write, reply(body))


async def serve() -> None:
    """Serve on a free port, which stderr names."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=1024)
    print(f"Serving on http://127.0.0.1:{server.sockets[0].getsockname()[1]}", file=sys.stderr, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
