"""One LM call as it is seen at the boundary, and who watches such calls."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from uuid import uuid4

import dspy
from dspy._vendor.lm15.serde import part_to_dict, request_to_dict, response_from_dict, response_to_dict
from dspy.lm15 import (
    Request,
    Response,
    StreamDeltaEvent,
    TextDelta,
    TextPart,
    ThinkingPart,
    materialize_response,
)
from dspy.utils.callback import BaseCallback

from odqa.bridge.prices import usd_of

__all__ = [
    "WATCHERS",
    "Call",
    "Server",
    "Watcher",
    "completed",
    "heard",
    "prompt_of",
    "readable",
    "recordable",
    "said_in",
    "watchers",
]

WATCHERS = "odqa_watchers"  # a setting: DSPy carries its settings to the threads that it starts itself


@dataclass(frozen=True, slots=True)
class Server:
    """Where an LM's calls go, and how: all that decides its replies but the request."""

    model: str
    """The name of the model, as `dspy.LM` has it."""
    settings: dict[str, Any]
    """The client settings of the LM, such as `api_base`, without the keys and time limits among them."""
    provider: str | None
    """The provider by whose price list the replies are paid; None where the engine states prices itself."""
    wire_model: str
    """The name by which the price list has the model."""
    namespaces: tuple[str, ...] | None = None
    """For a provider that was registered with DSPy: the parts of the price list that describe it."""


@dataclass(slots=True, eq=False)
class Call:
    """One call of an LM, from when it is asked for until it has ended; tries that are repeated belong to it."""

    server: Server
    request: Request
    rollout: Any
    """DSPy's rollout id: asking the same under another one gets another reply."""
    cache: bool
    """Whether DSPy's cache may answer it, and takes its reply; watchers may turn it off."""
    modules: Sequence[Any] = ()
    """The modules that are under way, the outermost first: the last one is the predictor that asks."""
    run: Any = None
    """What tells the cache's replies of one run from another's; None for none."""
    id: str = field(default_factory=lambda: uuid4().hex)
    response: Response | None = None
    """The reply; a watcher that knows it sets it when the call starts, and then nobody is asked."""
    error: BaseException | None = None
    """Why there is no reply."""
    cached: bool = False
    """Whether the reply cost nothing now, because DSPy's cache or an earlier request had it."""
    hear: Callable[[str], object] | None = None
    """Takes the text of the reply while it is written, where the LM's engine can stream; a watcher sets it when the
    call starts. Of a try that fails in the middle it has heard that much, and of the next one nothing."""
    heard: int = 0
    """How many watchers were told that it starts."""
    usd: float | None = None
    """What the reply cost when it was paid for, in US dollars; None where that is unknown."""

    def answer(self, response: Response, usd: float | None, *, cached: bool) -> None:
        """Give the call this reply. Not `cached`, it counts as paid for."""
        self.response, self.usd, self.cached = response, usd, cached

    def paid(self, response: Response) -> None:
        """Give the call the reply that the LM has just given."""
        self.answer(response, usd_of(self.server, self.request, response), cached=False)

    def key(self) -> str:
        """A hash of the request, its server and settings, and the rollout id. Keys and time limits may change."""
        asked = {"request": request_to_dict(self.request), "server": self.server.settings, "rollout": self.rollout}
        return hashlib.sha256(json.dumps(asked, sort_keys=True, default=repr).encode()).hexdigest()


class Watcher(BaseCallback):
    """Sees the LM calls in a block of `odqa.bridge.watching`; and, as a callback of DSPy's, the modules and retrievers.

    Modules inside of `modules_alone` are not announced. What a method raises that is no `Exception` ends the call and
    the question; of the methods of LM calls, any exception does.
    """

    ends: float | None = None
    """When the calls have to have ended, by `time.monotonic()`; None for never."""
    stopping: Event | None = None
    """Set when a call that waits is to wait no longer."""
    waits: bool = False
    """Whether `on_call_start` may wait for other calls."""

    def on_call_start(self, call: Call) -> None:
        """An LM is about to be asked, unless this gives the call an answer."""

    def on_call_end(self, call: Call) -> None:
        """It has answered or failed; not called where this watcher's `on_call_start` raised."""

    def on_unparsable(self) -> None:
        """A predictor that was called in `modules_alone` could not parse its reply."""

    def on_unbound(self, lm: Any) -> None:
        """An LM is asked that has no boundary in front of it: a program chose it by `dspy.context` itself."""


def completed(engine: Any, call: Call) -> Response:
    """The reply of an engine."""
    reply: Response = engine.complete(call.request)
    return reply


def heard(engine: Any, call: Call) -> Response:
    """The reply of an engine that can stream, which `call.hear` hears while it is written."""
    events, hear, call.hear = [], call.hear, None  # a second try would say it all again
    for event in engine.stream(call.request):
        events.append(event)
        if hear and isinstance(event, StreamDeltaEvent) and isinstance(event.delta, TextDelta):
            hear(event.delta.text)
    return materialize_response(iter(events), call.request)


def watchers() -> tuple[Watcher, ...]:
    """Those who watch here."""
    found: tuple[Watcher, ...] = dspy.settings.get(WATCHERS) or ()
    return found


def prompt_of(request: Request) -> list[tuple[str, str]]:
    """What the LM is shown, as roles and texts; parts that are no text come as JSON."""
    system = request.system
    said = [("system", system if isinstance(system, str) else _texts(system))] if system is not None else []
    return said + [(message.role, _texts(message.parts)) for message in request.messages]


def _texts(parts: Iterable[Any]) -> str:
    return "\n".join(part.text if isinstance(part, TextPart) else json.dumps(part_to_dict(part)) for part in parts)


def said_in(response: Response) -> str:
    """The text of a reply. What the LM thought comes first, and the tools that it calls last."""
    parts = response.message.parts
    calls = [json.dumps({"name": call.name, "arguments": call.input}) for call in response.tool_calls]
    texts = [part.text for kind in (ThinkingPart, TextPart) for part in parts if isinstance(part, kind)]
    return "\n\n".join(text for text in (*texts, *calls) if text)


def recordable(response: Response) -> dict[str, Any]:
    """A reply as JSON, without what only the provider's own clients read."""
    reply: dict[str, Any] = response_to_dict(response)
    return reply


def readable(reply: Mapping[str, Any]) -> Response:
    """The reply that `recordable` made into JSON.

    Raises:
        ValueError, TypeError, KeyError: it is none.
    """
    return response_from_dict(dict(reply))
