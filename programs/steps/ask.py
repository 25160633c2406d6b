"""Asking an LM, with reasoning or without, and carrying on when its reply cannot be parsed."""

import dspy

from retrieval.asking import ask

__all__ = ["ask", "chain_of_thought"]


def chain_of_thought(signature: type[dspy.Signature], reasoning: str = "${reasoning}") -> dspy.ChainOfThought:
    """A predictor that reasons before it gives the outputs; a reply may leave the reasoning out.

    Args:
        signature: What is asked.
        reasoning: Description of the field with the reasoning.
    """
    return dspy.ChainOfThought(signature, rationale_field=dspy.OutputField(desc=reasoning, default_factory=str))
