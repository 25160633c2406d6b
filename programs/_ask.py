"""Asking an LM whose reply may be anything."""

from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

__all__ = ["ask"]


def ask(predictor: dspy.Module, **inputs: Any) -> dspy.Prediction:
    """Call the predictor; a reply that cannot be parsed gives a prediction whose outputs are all None.

    An unparsable reply is the LM's mistake and so it is data: the method decides what None means, and the accounting,
    which sees the predictor fail, counts it. Errors of the provider (no key, no connection, a limit) are raised.

    Args:
        predictor: dspy.Predict, dspy.ChainOfThought or another module with one signature.
        inputs: Its input fields. Lone surrogates, which an LM can write and no provider accepts, become "?".
    """
    cleaned = {
        name: value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
        for name, value in inputs.items()
    }
    try:
        return predictor(**cleaned)
    except AdapterParseError:
        (single,) = predictor.predictors()
        return dspy.Prediction(**dict.fromkeys(single.signature.output_fields))
