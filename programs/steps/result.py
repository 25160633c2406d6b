"""The one form in which every method returns what it did."""

from typing import Any

import dspy

from retrieval import Passage
from retrieval.passage import plain

__all__ = ["result", "say"]


def result(
    *, answer: str | bool | None, queries: list[str], passages: list[Passage], evidence: list[Passage], **extras: Any
) -> dspy.Prediction:
    """A prediction with the four fields that all methods share, and the method's own.

    Args:
        answer: The short answer; yes or no for a bool; empty for None, a reply that could not be parsed.
        queries: Every query sent to the retriever, in order.
        passages: Everything retrieved, in order, the first copy of each id.
        evidence: What the answering call was shown.
        extras: The method's own fields; values that JSON can hold, or passages.
    """
    return dspy.Prediction(answer=say(answer), queries=queries, passages=passages, evidence=evidence, **extras)


def say(answer: str | bool | None) -> str:
    """An answer field's value as text: yes or no for a bool, nothing for None, else stripped and `plain`."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return plain(answer or "").strip()
