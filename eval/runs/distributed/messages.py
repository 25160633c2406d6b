"""What the driver of a run and a worker tell each other."""

from typing import Any, NamedTuple

import dspy

from eval.records.record import Row
from retrieval import Passage

__all__ = ["Held", "Known", "News", "Orders"]

Held = set[tuple[str, str]]
"""Ids and texts of passages that the run's directory has with just this text."""
Known = dict[str, list[tuple[Any, float | None, bool]]]
"""The replies to a question that were paid for before, by the keys of their requests: each with its price, and whether
this run paid it."""


class Orders(NamedTuple):
    """From the driver."""

    questions: list[tuple[dspy.Example, Known]]
    """To ask from now on."""
    leave: int
    """How many more LM calls may be made."""
    held: dict[int, Held]
    """Answers to `News.found`, by number."""
    stopped: str | None
    """Why no more calls are made, if so."""


class News(NamedTuple):
    """From a worker: what happened since it last told."""

    calls: list[bytes]
    """Paid LM calls, each as a line of the run's file."""
    ended: int
    """LM calls that have ended and leave room for others, answered or not."""
    wanted: int
    """LM calls that wait for leave, in all."""
    found: dict[int, list[Passage]]
    """Passages to keep, by a number of the worker's own."""
    finished: list[tuple[str, Row | Exception | None]]
    """Ids of questions, each with its row; or with the trouble of the run that ended it; or with None if it was
    stopped."""
