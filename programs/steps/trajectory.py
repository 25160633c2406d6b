"""A turn of a loop of thoughts, searches and observations, as the LM is shown it in the next turn."""

from collections.abc import Sequence

from retrieval import Passage, number

__all__ = ["turn"]


def turn(n: int, thought: str, query: str, found: Sequence[Passage]) -> list[str]:
    """The lines of turn n, counted from 1: the thought, the search and the passages that it found."""
    return [
        f"Thought {n}: {thought}",
        f"Action {n}: search for {query}",
        f"Observation {n}:\n{number(found) or 'nothing was found'}",
    ]
