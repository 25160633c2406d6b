"""A question between the thread that answers it and whoever waits for the answer, and the record of what came of it."""

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

from pydantic import BaseModel, ConfigDict

from programs.instruments.cost import Cost
from programs.instruments.live import PassageShown, Prompt, Step
from programs.serving.problems import Problem

__all__ = ["LATE", "Question", "Record", "Stopped", "late"]

LATE = "timeout"
"""The code of `late`."""

_GONE = Problem(499, "nobody waits for the answer", "gone")


class Record(BaseModel):
    """What a question came to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    """The question, as the method was asked."""
    method: str
    settings: dict[str, Any]
    """All settings of the method, by name."""
    retriever: str
    """The name of the retriever; none for closed book."""
    lm: str
    answer: str
    """Empty where there is none."""
    note: str | None
    """Where there is no answer, what to say instead."""
    steps: tuple[Step, ...]
    passages: dict[str, PassageShown]
    """All passages that were found, by id."""
    cost: Cost
    prompts: tuple[Prompt, ...] | None
    """Where they were asked for, in the order in which the calls ended."""


class Stopped(BaseException):
    """Ends a method. It is no Exception, so that nobody on the way handles it: DSPy swallows only Exception from
    callbacks."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


class Question:
    """A question that is being answered, for the thread of an event loop.

    Iterate over it once, for its steps and at the end its record; it may fail with a `Problem`. Whoever has it calls
    `stop` in the end, whatever happened.

    Args:
        seconds: The time after which it is stopped.
        over: Called once, when it is stopped, with the reason.
    """

    def __init__(self, seconds: float, over: Callable[["Question", Problem], object]) -> None:
        self.id = f"answer-{uuid.uuid4().hex}"
        """The id of its record, too."""
        self.stopped: Problem | None = None
        """Why it was stopped, where it was."""
        self._loop = asyncio.get_running_loop()
        self._told: asyncio.Queue[Step | Record | Problem] = asyncio.Queue()
        self._lock = threading.Lock()  # guards the end: after it nothing is told
        self._alarm = self._loop.call_later(seconds, self.stop, late(seconds))
        self._over = over

    async def __aiter__(self) -> AsyncIterator[Step | Record]:
        told: Step | Record | Problem | None = None
        while not isinstance(told, Record):
            told = await self._told.get()
            if isinstance(told, Problem):
                raise told
            yield told

    async def record(self) -> Record:
        """The record, once the question is answered.

        Raises:
            Problem: it failed, or was stopped.
        """
        *_, last = [told async for told in self]
        assert isinstance(last, Record)
        return last

    def stop(self, why: Problem = _GONE) -> None:
        """End the question: no LM call and no search begins any more. Does nothing where it has been stopped."""
        with self._lock:
            if self.stopped is not None:
                return
            self.stopped = why
        self._alarm.cancel()
        self._told.put_nowait(why)
        self._over(self, why)

    def proceed(self) -> None:
        """For the question's own threads: go on, or end where it is stopped.

        Raises:
            Stopped: it is.
        """
        if self.stopped is not None:
            raise Stopped(self.stopped)

    def tell(self, what: Step | Record | Problem) -> None:
        """For the question's own threads: tell whoever waits."""
        with self._lock:
            if self.stopped is None:
                self._loop.call_soon_threadsafe(self._told.put_nowait, what)


def late(seconds: float) -> Problem:
    """The problem that the time of a question or a search is over."""
    return Problem(504, f"there is no answer within {seconds:g} s", LATE)
