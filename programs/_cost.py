"""What a call costs, measured from outside the programs by a DSPy callback."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import AdapterParseError

from retrieval import Retriever

__all__ = ["Cost", "measured"]


@dataclass(slots=True)
class Cost:
    """What happened inside a `measured` block."""

    lm_calls: int = 0
    """Calls of an LM; those answered from DSPy's cache and the second try after an unparsable reply included."""
    cached_calls: int = 0
    """Those of them that DSPy's cache answered: nothing was paid for them now."""
    searches: int = 0
    """Queries sent to a retriever."""
    input_tokens: int = 0
    """Prompt tokens as the provider reported them; for a cached reply, those of the call that was paid for. DSPy's
    LiteLLM engine forgets these: its cached replies count 0."""
    output_tokens: int = 0
    """Likewise for the replies."""
    unparsable: int = 0
    """Predictor calls whose reply did not fit the signature, after DSPy's second try."""
    seconds: float = 0.0
    """Wall-clock time."""


@contextmanager
def measured() -> Iterator[Cost]:
    """Count what the LMs and retrievers called inside the block do; the counts are complete when it ends.

    Holds for calls in threads that carry the context along, as `side_by_side` does. Blocks may be nested and may run
    side by side: each counts its own calls.
    """
    cost = Cost()
    meter = _Meter(cost)
    started = time.perf_counter()
    settings = dspy.settings
    try:
        # DSPy appends each LM call's record to the history of every calling module: the meter poses as one.
        with dspy.context(
            callbacks=[*settings.callbacks, meter], caller_modules=[*(settings.caller_modules or []), meter]
        ):
            yield cost
    finally:
        cost.seconds = time.perf_counter() - started
        for record in meter.history:
            _add_tokens(cost, record)


class _Meter(BaseCallback):
    def __init__(self, cost: Cost) -> None:
        self.cost = cost
        self.history: list[dict[str, Any]] = []
        self._predictors: set[str] = set()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.cost.lm_calls += 1

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if isinstance(instance, Retriever):
            self.cost.searches += 1
        elif isinstance(instance, dspy.Predict):
            self._predictors.add(call_id)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        if call_id in self._predictors and isinstance(exception, AdapterParseError):
            self.cost.unparsable += 1


def _add_tokens(cost: Cost, record: dict[str, Any]) -> None:
    """Add the tokens of one record of an LM's history.

    On a cache hit DSPy leaves the record's usage empty. The native engine's stored response still has it; LiteLLM's is
    marked as a hit instead.
    """
    responses = record["response"] if isinstance(record["response"], tuple | list) else [record["response"]]
    for response in responses:
        usage = getattr(response, "usage", None)
        cost.input_tokens += _tokens(usage, "input_tokens", "prompt_tokens")
        cost.output_tokens += _tokens(usage, "output_tokens", "completion_tokens")
        cost.cached_calls += bool(getattr(response, "cache_hit", False) or (usage and not record["usage"]))


def _tokens(usage: Any, *names: str) -> int:
    """The first of these counts that the usage has: DSPy's native engine and LiteLLM name them differently."""
    found = (usage.get(name) if isinstance(usage, dict) else getattr(usage, name, None) for name in names)
    return next((int(value) for value in found if value), 0)
