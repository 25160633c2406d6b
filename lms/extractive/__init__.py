"""The built-in extractive reader: answers any signature from the context that it is shown, without a language model.

It stands in where there is no model to ask: for a first run, for tests, for trying a method out. It needs no network,
no weights and no key, gives the same reply to the same prompt, and knows nothing: what it says are words of the prompt.

    prompt    the rendered prompt read back: fields, types, format; and the reply written
    reading   sentences and spans, by the words that question and passages share
    fields    which of these goes into which field
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

import dspy
from dspy.lm15 import Message, Request, Response, TextPart, Usage, response_to_events

from lms.extractive.fields import fill
from lms.extractive.prompt import parse, render

__all__ = ["AsyncExtractiveReader", "ExtractiveReader", "extractive_lm"]


class _Saved:
    """What a saved program keeps of a reader: nothing, all readers are the same."""

    def dump_state(self) -> dict[str, Any]:
        """An empty state."""
        return {}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """A reader, from what `dump_state` gave."""
        return cls(**state)


class ExtractiveReader(_Saved):
    """The reader as a DSPy engine; `extractive_lm` wraps it in a `dspy.LM`.

    It reads the system message and the last user message; demonstrations and generation settings change nothing.
    Usage counts words between blanks, as no tokenizer is at hand.
    """

    def complete(self, request: Request) -> Response:
        """Answer one request; never raises, whatever its text."""
        system = request.system if isinstance(request.system, str) else _text(request.system or ())
        users = [_text(message.parts) for message in request.messages if message.role == "user"]
        task = parse(system, users[-1] if users else "")
        reply = render(task, fill(task))
        words = len(system.split()) + sum(len(_text(message.parts).split()) for message in request.messages)
        usage = Usage(input_tokens=words, output_tokens=len(reply.split()))
        message = Message.assistant([TextPart(reply)])
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)

    def stream(self, request: Request) -> Iterator[Any]:
        """The events of the one reply."""
        events: Iterator[Any] = response_to_events(self.complete(request))
        return events

    def close(self) -> None:
        """There is nothing to close."""


class AsyncExtractiveReader(_Saved):
    """`ExtractiveReader` for asynchronous calls; a call runs through without waiting."""

    async def complete(self, request: Request) -> Response:
        """Answer one request; never raises, whatever its text."""
        return ExtractiveReader().complete(request)

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        """The events of the one reply."""
        for event in ExtractiveReader().stream(request):
            yield event

    async def aclose(self) -> None:
        """There is nothing to close."""


def extractive_lm() -> dspy.LM:
    """The extractive reader as a `dspy.LM`, for `dspy.configure(lm=…)` or `dspy.context(lm=…)`."""
    return dspy.LM("extractive/reader", engine=ExtractiveReader(), async_engine=AsyncExtractiveReader(), cache=False)


def _text(parts: Any) -> str:
    """The text among a message's parts; images and the like are not read."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))
