"""Asking an LM, and carrying on when its reply cannot be parsed: for programs, and for retrievers that ask one."""

from traceback import walk_tb
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from retrieval.passage import plain
from retrieval.watching import only_lm_calls
from signatures.adapters import ChatAdapter

__all__ = ["adapter_in_use", "ask", "is_unparsable"]

_ADAPTER = ChatAdapter()


def is_unparsable(error: BaseException | None) -> bool:
    """Whether the error says that a reply cannot be parsed: whatever an adapter raises while it reads one.

    DSPy's own adapters raise more than AdapterParseError: ValueError, RecursionError and MemoryError come from the
    parsers of JSON and Python behind them, as for brackets that open without end.
    """
    if error is None or isinstance(error, AdapterParseError):
        return error is not None
    return isinstance(error, Exception) and any(
        frame.f_code.co_name == "parse" and isinstance(frame.f_locals.get("self"), dspy.Adapter)
        for frame, _ in walk_tb(error.__traceback__)
    )


def adapter_in_use() -> dspy.Adapter:
    """DSPy's adapter; where none is configured, the tolerant `signatures.adapters.ChatAdapter`."""
    return dspy.settings.adapter or _ADAPTER


def ask(predictor: dspy.Module, **inputs: Any) -> dspy.Prediction:
    """Call the predictor. For a reply that cannot be parsed, return a prediction whose outputs are all None.

    An unparsable reply is the LM's mistake, so it is data: the method decides what None means. The accounting sees the
    predictor fail and counts it. Such a reply costs one LM call more, because DSPy asks again, for JSON, before it
    gives up. Errors of the provider (no key, no connection, a limit) are raised. `adapter_in_use` asks and reads.

    Args:
        predictor: dspy.Predict, dspy.ChainOfThought or another module with one signature.
        inputs: The input fields. Text is made `retrieval.passage.plain`, so that no question can pass for a field
            marker.
    """
    cleaned = {name: plain(value) if isinstance(value, str) else value for name, value in inputs.items()}
    settings, watchers = only_lm_calls(predictor)
    try:
        with dspy.context(adapter=adapter_in_use(), **settings):
            return predictor(**cleaned)
    except Exception as error:
        if not is_unparsable(error):
            raise
        for watcher in watchers:
            watcher.on_unparsable()
        (single,) = predictor.predictors()
        return dspy.Prediction(**dict.fromkeys(single.signature.output_fields))
