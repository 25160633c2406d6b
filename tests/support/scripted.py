"""A language model that answers from a script, and fails on one call too many and on one reply left over."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import dspy
from dspy.adapters.chat_adapter import FieldInfoWithName
from dspy.lm15 import Message, Request, Response, TextPart, Usage, response_to_events
from support.patience import PATIENCE

from signatures.adapters import ChatAdapter

UNPARSABLE = "{}"
"""A reply without any field, whatever the signature."""


@dataclass
class Reply:
    """One reply: to a predictor with this signature, whose current inputs contain `when`."""

    to: type[dspy.Signature]
    fields: dict[str, Any] | str  # a string is sent as it is
    when: str = ""
    delay: float = 0.0  # seconds


@dataclass
class Script:
    """The engine. `prompts` keeps, per call, the signature's instructions and the last user message."""

    replies: list[Reply]
    prompts: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def complete(self, request: Request) -> Response:
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
        user = request.messages[-1].text or ""
        with self.lock:
            self.prompts.append((system, user))
            reply = next((r for r in self.replies if _asked(r.to, system) and r.when in user), None)
            assert reply is not None, f"no reply is left for:\n{system}\n{user}"
            self.replies.remove(reply)
        time.sleep(reply.delay)
        return respond(reply.fields if isinstance(reply.fields, str) else render(reply.fields))


class Function:
    """An engine whose replies a function computes from the system and the user message."""

    def __init__(self, reply: Callable[[str, str], str]) -> None:
        self.reply = reply

    def complete(self, request: Request) -> Response:
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
        return respond(self.reply(system, request.messages[-1].text or ""))


class Priced(Function):
    """`Function` for a quarter of a dollar per reply, which no price list knows."""

    usd_per_token = 0.001

    def complete(self, request: Request) -> Response:
        return replace(super().complete(request), provider_data={"usd": 0.25})  # type: ignore[no-any-return]


class Slow(Function):
    """An engine that streams a reply in these pieces, each when it is let."""

    def __init__(self, pieces: list[str]) -> None:
        super().__init__(lambda *_: "".join(pieces))
        self._pieces, self._allowed, self._turn = pieces, 0, threading.Condition()

    def allow(self, pieces: int) -> None:
        with self._turn:
            self._allowed = pieces
            self._turn.notify_all()

    def stream(self, request: Request) -> Iterator[Any]:
        first, delta, *_, last = response_to_events(self.complete(request))
        yield first
        for number, piece in enumerate(self._pieces, 1):
            with self._turn:
                assert self._turn.wait_for(lambda number=number: self._allowed >= number, PATIENCE)
            yield replace(delta, delta=replace(delta.delta, text=piece))
        yield last


def respond(text: str) -> Response:
    usage = Usage(input_tokens=10, output_tokens=2, total_tokens=12)
    return Response(
        id=None, model="scripted", message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
    )


def render(fields: dict[str, Any]) -> str:
    """The fields as ChatAdapter wants them back."""
    named = {FieldInfoWithName(name, dspy.OutputField()): value for name, value in fields.items()}
    return ChatAdapter().format_field_with_value(named)


def engine_lm(engine: Any) -> dspy.LM:
    return dspy.LM("test/scripted", engine=engine, cache=False, num_retries=0)


@contextmanager
def scripted(*replies: Reply) -> Iterator[Script]:
    """Use a scripted LM in the block; every reply must have been asked for when it ends."""
    script = Script(list(replies))
    with dspy.context(lm=engine_lm(script), adapter=ChatAdapter()):
        yield script
    assert not script.replies, f"replies left over: {script.replies}"


def _asked(signature: type[dspy.Signature], system: str) -> bool:
    return " ".join(signature.instructions.split()) in " ".join(system.split())
