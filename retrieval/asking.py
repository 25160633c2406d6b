"""Asking an LM, and carrying on when its reply cannot be parsed: for programs, and for retrievers that ask one."""

from typing import Any

import dspy

from odqa.bridge import bound, is_bound, is_unparsable, modules_alone, watchers
from retrieval.passage import plain
from signatures.adapters import ChatAdapter, is_tolerant

__all__ = ["adapter_in_use", "ask"]

_ADAPTER = ChatAdapter()


def adapter_in_use() -> dspy.Adapter:
    """DSPy's adapter; where none is configured, the tolerant `signatures.adapters.ChatAdapter`, whatever DSPy would
    take by itself."""
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
    adapter = adapter_in_use()
    single = predictor.predict if type(predictor) is dspy.ChainOfThought else predictor
    lm = bound(getattr(single, "lm", None) or dspy.settings.lm)
    alone = isinstance(single, dspy.Predict) and is_bound(lm)
    settings: dict[str, Any] = {"adapter": adapter}
    if alone:
        settings |= modules_alone(tolerant=is_tolerant(adapter))
        given = cleaned if single.lm else settings
        given["lm"] = lm
    try:
        with dspy.context(**settings):
            return predictor(**cleaned)
    except Exception as error:
        if not is_unparsable(error):
            raise
        for watcher in watchers() if alone else ():
            watcher.on_unparsable()
        (asked,) = predictor.predictors()
        return dspy.Prediction(**dict.fromkeys(asked.signature.output_fields))
