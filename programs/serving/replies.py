"""How a question's answer is told: whole or by events, with its sources, until the client goes away."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from programs.instruments.live import PassageShown, Source
from programs.instruments.words import line
from programs.serving.question import Question, Record
from retrieval.serving.requests import as_json, json_reply

__all__ = ["BY_EVENTS", "Cited", "address", "cited", "event", "reply", "sources"]

BY_EVENTS = ("application/json", "text/event-stream")
"""The media types of replies that are told whole or by events."""

_ALIVE = 15.0  # seconds without an event, after which a comment keeps the connection open


async def reply(
    request: Request, question: Question, whole: Callable[[Record], Any], events: AsyncIterator[bytes] | None
) -> Response:
    """The reply to whoever asked; the question is stopped when the reply ends or the client goes away.

    Args:
        request: The request.
        question: What it asked.
        whole: What is told of the record, in JSON.
        events: What is told while the question is answered, in place of the whole.

    Raises:
        Problem: the question failed, and nothing is told yet.
    """
    if events is not None:
        return _Events(question, events)
    answered, gone = asyncio.ensure_future(question.record()), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({answered, gone}, return_when=asyncio.FIRST_COMPLETED)
        return json_reply(whole(await answered) if answered.done() else None)
    finally:
        question.stop()
        answered.cancel()
        gone.cancel()


def event(data: object, name: str | None = None) -> bytes:
    """One event, with data in JSON."""
    return (b"event: %b\n" % name.encode() if name else b"") + b"data: %b\n\n" % as_json(data)


class _Events(StreamingResponse):
    """Server-sent events about a question, which is stopped when the reply ends, however it ends."""

    media_type = "text/event-stream"

    def __init__(self, question: Question, events: AsyncIterator[bytes]) -> None:
        super().__init__(_kept_alive(events), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._question = question

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._question.stop()


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


class Citation(NamedTuple):
    """A source's number in the text of an answer, from character `start` to `end`."""

    start: int
    end: int
    passage: PassageShown

    @property
    def title(self) -> str:
        """The title of the source, or its id, on one line."""
        return line(self.passage.title or self.passage.id)

    @property
    def annotation(self) -> dict[str, Any]:
        """The citation as /v1/responses has it."""
        if url := address(self.passage):
            place = {"start_index": self.start, "end_index": self.end}
            return {"type": "url_citation", **place, "title": self.title, "url": url}
        return {"type": "file_citation", "file_id": self.passage.id, "filename": self.title, "index": self.start}


class Cited(NamedTuple):
    """The text of an answer, and its citations."""

    text: str
    citations: Sequence[Citation]

    def after(self, written: str) -> str:
        """What of the text is to be said after what was told of it while it was written: the rest; or all of it, in a
        paragraph of its own, where more was made of the answer than what the LM wrote."""
        return self.text.removeprefix(written) if self.text.startswith(written) else f"\n\n{self.text}"


def cited(record: Record) -> Cited:
    """The answer with numbers for its sources, which are the passages that say it, and their list, since clients show
    citations differently; or the note that there is no answer."""
    if not record.answer:
        return Cited(record.note or "no answer", ())
    text, citations = record.answer, []
    for number, passage in enumerate(sources(record), 1):
        text += " " * (number == 1)
        citations.append(Citation(len(text), len(text) + len(f"[{number}]"), passage))
        text += f"[{number}]"
    if citations:
        text += "\n\nSources:"
    for number, citation in enumerate(citations, 1):
        text += f"\n[{number}] {citation.title} {address(citation.passage) or ''}".rstrip()
    return Cited(text, citations)


def sources(record: Record, *, supporting: bool = True) -> list[PassageShown]:
    """The passages that say the answer; else those that the answering call was only shown."""
    steps = [step for step in record.steps if isinstance(step, Source) and step.supports == supporting]
    return [record.passages[step.passage] for step in steps]


def address(passage: PassageShown) -> str | None:
    """The address of a passage whose id is one."""
    return passage.id if re.fullmatch(r"https?://\S+", passage.id) else None
