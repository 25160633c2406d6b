"""What a program costs, measured from outside: by the calls that pass the boundary in front of the LM."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from math import fsum
from typing import Any, NamedTuple
from uuid import uuid4

import dspy

from odqa.bridge import Call, Watcher, is_unparsable, modules_under_way, watching
from programs.steps.side_by_side import chained
from retrieval import Retriever

__all__ = ["Cost", "PredictorNames", "Reply", "Spent", "measured", "reply_to"]


@dataclass(slots=True)
class Spent:
    """The cost of LM calls. `paid_…` is the part that was paid now; the rest was answered by DSPy's cache."""

    lm_calls: int = 0
    """Calls of an LM, including those that DSPy's cache answered and second tries after unparsable replies."""
    cached_calls: int = 0
    """The calls among them that DSPy's cache answered, for which nothing was paid now."""
    input_tokens: int = 0
    """Prompt tokens as the provider reported them; for a cached reply, the tokens of the call that was paid for."""
    output_tokens: int = 0
    """Likewise for the replies."""
    usd: float | None = 0.0
    """US dollars, by DSPy's price list or as the LM's engine states it; for a cached reply, what the call cost when it
    was paid for. None if the price of any call is unknown."""
    paid_input_tokens: int = 0
    paid_output_tokens: int = 0
    paid_usd: float | None = 0.0


@dataclass(slots=True)
class Cost(Spent):
    """What happened inside a `measured` block."""

    searches: int = 0
    """Queries sent to a retriever."""
    unparsable: int = 0
    """Predictor calls whose reply did not fit the signature, after DSPy's second try."""
    depth: int = 0
    """LM calls that wait for one another: the longest chain of them. Calls that are made side by side count as one."""
    seconds: float = 0.0
    """Wall-clock time."""
    predictors: dict[str, Spent] = field(default_factory=dict)
    """The LM calls by predictor, under the names that are the keys of saved states; in alphabetical order."""

    def of_lms(self) -> Spent:
        """The cost of the LM calls alone."""
        return Spent(**{part.name: getattr(self, part.name) for part in fields(Spent)})


class PredictorNames:
    """The names of predictors in their programs. Each program is looked through once, since DSPy takes long for it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[dspy.Module, dict[int, tuple[str, dspy.Predict]]]] = {}  # by the objects' ids

    def __call__(self, modules: Sequence[dspy.Module]) -> str:
        """The name of the last of these modules in the first one: its key in that program's saved state, else the name
        of its class. Without any module it is "no module"."""
        if not modules:
            return "no module"
        program, caller = modules[0], modules[-1]
        known = self._known.get(id(program))
        if known is None or id(caller) not in known[1]:
            named = {id(predictor): (name, predictor) for name, predictor in reversed(program.named_predictors())}
            known = self._known[id(program)] = (program, named)
        return known[1].get(id(caller), (type(caller).__name__,))[0]


@contextmanager
def measured(names: PredictorNames | None = None) -> Iterator[Cost]:
    """Count what the LMs and retrievers called inside the block do; the counts are complete when it ends.

    Holds for calls in threads that carry the context along, as `side_by_side` does. Blocks may be nested and may run
    side by side: each counts its own calls.

    Args:
        names: For many blocks with the same programs, whose predictors stay as they are.
    """
    cost = Cost()
    meter = _Meter(names or PredictorNames())
    started = time.perf_counter()
    try:
        with watching(meter):
            yield cost
    finally:
        cost.seconds = time.perf_counter() - started
        cost.searches = len(meter.searches)
        cost.unparsable = len(meter.unparsable)
        cost.depth = max(meter.depths, default=0)
        _add_up(cost, meter.calls, meter.replies)
        for name in sorted(set(meter.calls)):
            cost.predictors[name] = Spent()
            calls = [call for call in meter.calls if call == name]
            _add_up(cost.predictors[name], calls, [reply for reply in meter.replies if reply.predictor == name])


class Reply(NamedTuple):
    """What an LM call cost."""

    predictor: str
    cached: bool
    """Whether DSPy's cache answered it."""
    input_tokens: int
    output_tokens: int
    usd: float | None


class _Meter(Watcher):
    """Many threads add to its lists; they only use `append`, which is safe."""

    def __init__(self, names: PredictorNames) -> None:
        self._names = names
        self.calls: list[str] = []  # the predictors' names
        self.replies: list[Reply] = []
        self.searches: list[str] = []
        self.unparsable: list[None] = []
        self.depths: list[int] = []  # how many calls of the block led to each call, itself included
        self._before, _ = chained.get()
        self._outside = len(modules_under_way())  # modules that the block is in
        self._predictors: set[str] = set()

    def on_call_start(self, call: Call) -> None:
        self._begin(self._name(call), call.id)

    def on_call_end(self, call: Call) -> None:
        if call.error is None:
            self.replies.append(reply_to(call, self._name(call)))

    def on_unbound(self, lm: Any) -> None:
        self._begin("no boundary", uuid4().hex)
        self.replies.append(Reply("no boundary", False, 0, 0, None))

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if isinstance(instance, Retriever):
            self.searches.append(call_id)
        elif isinstance(instance, dspy.Predict):
            self._predictors.add(call_id)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        if call_id in self._predictors and is_unparsable(exception):
            self.on_unparsable()

    def on_unparsable(self) -> None:
        self.unparsable.append(None)

    def _name(self, call: Call) -> str:
        return self._names(call.modules[self._outside :])

    def _begin(self, name: str, call_id: str) -> None:
        self.calls.append(name)
        count, last = chained.get()
        if last != call_id:  # no other meter has counted it
            count += 1
            chained.set((count, call_id))
        self.depths.append(count - self._before)


def reply_to(call: Call, predictor: str) -> Reply:
    """What a call of this predictor cost, which was answered."""
    assert call.response is not None
    usage = call.response.usage
    return Reply(predictor, call.cached, usage.input_tokens or 0, usage.output_tokens or 0, call.usd)


def _add_up(spent: Spent, calls: Sequence[str], replies: Sequence[Reply]) -> None:
    paid = [reply for reply in replies if not reply.cached]
    spent.lm_calls = len(calls)
    spent.cached_calls = len(replies) - len(paid)
    spent.input_tokens = sum(reply.input_tokens for reply in replies)
    spent.output_tokens = sum(reply.output_tokens for reply in replies)
    spent.usd = _dollars(replies)
    spent.paid_input_tokens = sum(reply.input_tokens for reply in paid)
    spent.paid_output_tokens = sum(reply.output_tokens for reply in paid)
    spent.paid_usd = _dollars(paid)


def _dollars(replies: Sequence[Reply]) -> float | None:
    prices = [reply.usd for reply in replies]
    return None if None in prices else fsum(price for price in prices if price is not None)
