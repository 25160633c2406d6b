"""Replies that go on while a question is answered, and end it when the client goes away."""

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from programs.serving.question import Question
from programs.serving.records import Record
from retrieval.serving.requests import as_json

__all__ = ["Events", "event", "unless_gone"]

_ALIVE = 15.0  # seconds without an event, after which a comment keeps the connection open


class Events(StreamingResponse):
    """Server-sent events about a question.

    Args:
        question: Is stopped when the reply ends, however it ends.
        events: The events, as bytes.
    """

    media_type = "text/event-stream"

    def __init__(self, question: Question, events: AsyncIterator[bytes]) -> None:
        super().__init__(_kept_alive(events), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._question = question

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._question.stop()


def event(data: object, name: str | None = None) -> bytes:
    """One event, with data in JSON."""
    return (b"event: %b\n" % name.encode() if name else b"") + b"data: %b\n\n" % as_json(data)


async def unless_gone(request: Request, question: Question) -> Record | None:
    """The record of the question; None where the client went away before. The question is stopped in the end.

    Raises:
        Problem: it failed.
    """
    answered = asyncio.ensure_future(question.record())
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({answered, gone}, return_when=asyncio.FIRST_COMPLETED)
        return await answered if answered.done() else None
    finally:
        question.stop()
        answered.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _kept_alive(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The events, and comments where nothing happens for a while."""
    waiting = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            done, _ = await asyncio.wait({waiting}, timeout=_ALIVE)
            if not done:
                yield b": still at it\n\n"
                continue
            if (sent := waiting.result()) is None:
                return
            yield sent
            waiting = asyncio.ensure_future(anext(events, None))
    finally:
        waiting.cancel()
