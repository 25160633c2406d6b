"""What a program costs, measured from outside by a DSPy callback."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from math import fsum
from typing import Any, NamedTuple

import dspy

from programs.steps.ask import is_unparsable
from programs.steps.side_by_side import chained
from retrieval import Retriever
from retrieval.watching import Watcher, watching

__all__ = [
    "REPLAYED",
    "Cost",
    "PredictorNames",
    "Recorder",
    "Reply",
    "Spent",
    "caller",
    "measured",
    "read_record",
    "recording",
    "stated_price",
    "without_history",
]

REPLAYED = "replayed"
"""Key in a cached reply's cost details. The reply was paid for earlier in the same run, and counts as paid now."""


@dataclass(slots=True)
class Spent:
    """The cost of LM calls. `paid_…` is the part that was paid now; the rest was answered by DSPy's cache."""

    lm_calls: int = 0
    """Calls of an LM, including those that DSPy's cache answered and second tries after unparsable replies."""
    cached_calls: int = 0
    """The calls among them that DSPy's cache answered, for which nothing was paid now."""
    input_tokens: int = 0
    """Prompt tokens as the provider reported them; for a cached reply, the tokens of the call that was paid for. DSPy's
    LiteLLM engine forgets these, so its cached replies count 0, except in a run: `eval.runs.recorded_calls` looks into
    the cache."""
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

    def __call__(self, program: dspy.Module, caller: dspy.Module) -> str:
        """The predictor's key in the program's saved state; the name of its class where it has none."""
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
        with recording(meter):
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


class Recorder(Watcher):
    """A watcher that, while it is `recording`, is given DSPy's record of each LM call too, before the call ends.

    DSPy appends the record to the history of every calling module: the recorder poses as one.
    """

    def __init__(self) -> None:
        self.history = _History(self.on_record)

    def on_record(self, record: dict[str, Any]) -> None:
        """An LM call was answered: the record, as DSPy's history has it."""


@contextmanager
def recording(recorder: Recorder, **settings: Any) -> Iterator[None]:
    """`watching`, for a recorder."""
    with watching(recorder, caller_modules=[*(dspy.settings.caller_modules or []), recorder], **settings):
        yield


def without_history(lm: dspy.LM) -> dspy.LM:
    """A copy of the LM that gives the records of its calls to recorders alone.

    DSPy keeps the last 10,000 prompts and replies of a process, which is for people at a prompt, not for a server.
    """
    copied = lm.copy()

    def hand_on(record: dict[str, Any]) -> None:
        for module in dspy.settings.caller_modules or ():
            if isinstance(module, Recorder):
                module.history.append(record)

    copied.update_history = hand_on
    return copied


class Reply(NamedTuple):
    """What an LM call cost."""

    predictor: str
    cached: bool
    """Whether DSPy's cache answered it."""
    input_tokens: int
    output_tokens: int
    usd: float | None


class _History(list[Any]):
    """Passes records on and keeps none, because DSPy drops the oldest records of a full history."""

    def __init__(self, take: Callable[[dict[str, Any]], object]) -> None:
        super().__init__()
        self._take = take

    def append(self, record: dict[str, Any]) -> None:
        self._take(record)


class _Meter(Recorder):
    """Many threads add to its lists; they only use `append`, which is safe."""

    def __init__(self, names: PredictorNames) -> None:
        super().__init__()
        self._names = names
        self.calls: list[str] = []  # the predictors' names
        self.replies: list[Reply] = []
        self.searches: list[str] = []
        self.unparsable: list[None] = []
        self.depths: list[int] = []  # how many calls of the block led to each call, itself included
        self._before, _ = chained.get()
        self._predictors: set[str] = set()

    def on_record(self, record: dict[str, Any]) -> None:
        self.replies.append(read_record(self._caller(), record))

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.calls.append(self._caller())
        count, last = chained.get()
        if last != call_id:  # no other meter has counted it
            count += 1
            chained.set((count, call_id))
        self.depths.append(count - self._before)

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

    def _caller(self) -> str:
        modules = dspy.settings.caller_modules
        return _name_of_caller(modules[modules.index(self) + 1 :], self._names)


def _name_of_caller(modules: Sequence[Any], names: PredictorNames) -> str:
    """The innermost of these modules, by its name in the outermost one."""
    inside = [module for module in modules if not isinstance(module, Recorder)]
    return names(inside[0], inside[-1]) if inside else "no module"


def read_record(predictor: str, record: dict[str, Any]) -> Reply:
    """What a call cost, from its record in an LM's history.

    On a cache hit DSPy leaves the record's usage empty. The native engine's stored response still has it; LiteLLM's is
    marked as a hit instead. The record's cost is there in both cases.
    """
    responses = record["response"] if isinstance(record["response"], tuple | list) else [record["response"]]
    usages = [getattr(response, "usage", None) for response in responses]
    input_tokens = sum(_tokens(usage, "input_tokens", "prompt_tokens") for usage in usages)
    output_tokens = sum(_tokens(usage, "output_tokens", "completion_tokens") for usage in usages)
    replayed = REPLAYED in record.get("cost_details", {}) or any(getattr(r, REPLAYED, False) for r in responses)
    hit = any(getattr(r, "cache_hit", False) for r in responses) or (
        input_tokens + output_tokens and not record["usage"]
    )
    usd = record["cost"]
    if usd is None:
        usd = stated_price(getattr(response, "provider_data", None) for response in responses)
    return Reply(predictor, bool(hit) and not replayed, input_tokens, output_tokens, usd)


def caller(names: PredictorNames) -> str:
    """The predictor that calls the LM now, by its name in the outermost program."""
    return _name_of_caller(dspy.settings.caller_modules or (), names)


def stated_price(provider_data: Iterable[Any]) -> float | None:
    """US dollars for replies whose engine states them, as `usd` in each reply's provider data.

    DSPy's price list knows the models of its own engines only. None where a reply has no price with it.
    """
    prices = [data.get("usd") if isinstance(data, dict) else None for data in provider_data]
    return None if not prices or None in prices else fsum(prices)  # type: ignore[arg-type]


def _tokens(usage: Any, *names: str) -> int:
    """The first of these counts that the usage has: DSPy's native engine and LiteLLM name them differently."""
    found = (usage.get(name) if isinstance(usage, dict) else getattr(usage, name, None) for name in names)
    return next((int(value) for value in found if value), 0)


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
