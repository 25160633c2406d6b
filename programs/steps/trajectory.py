"""A turn of a loop of thoughts, searches and observations: what the LM chose, and how the next turn shows it."""

from collections.abc import Sequence

import dspy

from programs.steps.text import as_text, line_or_nothing
from retrieval import Passage, number

__all__ = ["answer_of", "query_of", "turn"]


def query_of(step: dspy.Prediction) -> str:
    """What a step searches for; what its action has in brackets, "Search[Paris]", where the field has nothing."""
    return line_or_nothing(step.query) or line_or_nothing(getattr(step.action, "argument", ""))


def answer_of(step: dspy.Prediction) -> str:
    """The answer of the last step; what its action has in brackets, "Finish[Paris]", where the field has none."""
    return as_text(step.answer) or getattr(step.action, "argument", "")


def turn(n: int, thought: str, query: str, found: Sequence[Passage]) -> list[str]:
    """The lines of turn n, counted from 1: the thought, the search and the passages that it found."""
    return [
        f"Thought {n}: {thought}",
        f"Action {n}: search for {query}",
        f"Observation {n}:\n{number(found) or 'nothing was found'}",
    ]
