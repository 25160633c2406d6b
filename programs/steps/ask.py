"""Asking an LM, with reasoning or without, and carrying on when its reply cannot be parsed."""

from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from retrieval.passage import plain

__all__ = ["UNPARSABLE", "ask", "chain_of_thought"]

# What DSPy raises for a reply that does not fit the signature. The last two come from Python's own parser, which DSPy
# uses for typed fields: deeply nested brackets, or a long text that is no expression.
UNPARSABLE = (AdapterParseError, RecursionError, MemoryError)


def chain_of_thought(signature: type[dspy.Signature]) -> dspy.ChainOfThought:
    """A predictor that reasons before it gives the outputs; a reply may leave the reasoning out."""
    return dspy.ChainOfThought(signature, rationale_field=dspy.OutputField(desc="${reasoning}", default_factory=str))


def ask(predictor: dspy.Module, **inputs: Any) -> dspy.Prediction:
    """Call the predictor. For a reply that cannot be parsed, return a prediction whose outputs are all None.

    An unparsable reply is the LM's mistake, so it is data: the method decides what None means. The accounting sees the
    predictor fail and counts it. Such a reply costs one LM call more, because DSPy asks again, for JSON, before it
    gives up. Errors of the provider (no key, no connection, a limit) are raised.

    Args:
        predictor: dspy.Predict, dspy.ChainOfThought or another module with one signature.
        inputs: The input fields. Text is made `retrieval.passage.plain`, so that no question can pass for a field
            marker.
    """
    cleaned = {name: plain(value) if isinstance(value, str) else value for name, value in inputs.items()}
    try:
        return predictor(**cleaned)
    except UNPARSABLE:
        (single,) = predictor.predictors()
        return dspy.Prediction(**dict.fromkeys(single.signature.output_fields))
