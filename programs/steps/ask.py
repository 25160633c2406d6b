"""Asking an LM whose reply may be anything."""

from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from retrieval.passage import plain

__all__ = ["UNPARSABLE", "ask"]

# How DSPy says that a reply does not fit. The last two come from parsing a typed field by way of Python's own parser:
# deeply nested brackets, or a long text that is no expression.
UNPARSABLE = (AdapterParseError, RecursionError, MemoryError)


def ask(predictor: dspy.Module, **inputs: Any) -> dspy.Prediction:
    """Call the predictor; a reply that cannot be parsed gives a prediction whose outputs are all None.

    An unparsable reply is the LM's mistake and so it is data: the method decides what None means, and the accounting,
    which sees the predictor fail, counts it. Errors of the provider (no key, no connection, a limit) are raised.

    Args:
        predictor: dspy.Predict, dspy.ChainOfThought or another module with one signature.
        inputs: Its input fields. Text is made `retrieval.passage.plain`: no question can pass for a field marker.
    """
    cleaned = {name: plain(value) if isinstance(value, str) else value for name, value in inputs.items()}
    try:
        return predictor(**cleaned)
    except UNPARSABLE:
        (single,) = predictor.predictors()
        return dspy.Prediction(**dict.fromkeys(single.signature.output_fields))
