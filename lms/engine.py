"""A DSPy engine that computes its replies on this machine, and the same engine for asynchronous calls."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

from dspy.lm15 import Message, Request, Response, StreamDeltaEvent, TextPart, Usage, response_to_events

__all__ = ["AsyncPromptEngine", "PromptEngine"]


class PromptEngine:
    """Answers the last user message of a request. Usage counts words between blanks, as no tokenizer is at hand."""

    usd_per_token = 0.0
    computes_here = True  # at once, so that no thread need wait for it

    def reply(self, system: str, user: str) -> str:
        """The reply to a system message and a user message, whatever their text; subclasses write it."""
        raise NotImplementedError

    def complete(self, request: Request) -> Response:
        """Answer one request; never raises, whatever its text."""
        system = request.system if isinstance(request.system, str) else _text(request.system or ())
        users = [_text(message.parts) for message in request.messages if message.role == "user"]
        reply = self.reply(system, users[-1] if users else "")
        words = len(system.split()) + sum(len(_text(message.parts).split()) for message in request.messages)
        usage = Usage(input_tokens=words, output_tokens=len(reply.split()))
        message = Message.assistant([TextPart(reply)])
        return Response(
            id=None,
            model=request.model,
            message=message,
            finish_reason="stop",
            usage=usage,
            provider_data={"usd": self.usd_per_token},
        )

    def stream(self, request: Request) -> Iterator[Any]:
        """The events of the one reply, a word at a time: of a reply in one piece DSPy's listeners hand on nothing."""
        for event in response_to_events(self.complete(request)):
            if isinstance(event, StreamDeltaEvent):
                for word in re.findall(r"\s*\S+|\s+", event.delta.text):
                    yield replace(event, delta=replace(event.delta, text=word))
            else:
                yield event

    def close(self) -> None:
        """Does nothing: nothing is open."""


class AsyncPromptEngine:
    """A `PromptEngine` for asynchronous calls; a call runs through without waiting."""

    def __init__(self, engine: PromptEngine) -> None:
        self._engine = engine

    async def complete(self, request: Request) -> Response:
        """Answer one request; never raises, whatever its text."""
        return self._engine.complete(request)

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        """The events of the one reply."""
        for event in self._engine.stream(request):
            yield event

    async def aclose(self) -> None:
        """Does nothing: nothing is open."""


def _text(parts: Any) -> str:
    """The text among a message's parts; images and the like are not read."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))
