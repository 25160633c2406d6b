"""A question between the thread that answers it and whoever waits for the answer."""

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable

from programs.instruments.live import Step
from programs.serving.problems import Problem
from programs.serving.records import Record

__all__ = ["LATE", "Question", "Stopped", "late"]

LATE = "timeout"
"""The code of `late`."""

_GONE = Problem(499, "nobody waits for the answer", "gone")


def late(seconds: float) -> Problem:
    """Time is over."""
    return Problem(504, f"there is no answer within {seconds:g} s", LATE)


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
        seconds: After which it is stopped.
        over: Called once, when it is stopped, with the reason.
    """

    def __init__(self, seconds: float, over: Callable[["Question", Problem], object]) -> None:
        self.id = f"answer-{uuid.uuid4().hex}"
        """That of its record."""
        self._loop = asyncio.get_running_loop()
        self._told: asyncio.Queue[Step | Record | Problem] = asyncio.Queue()
        self.stopped: Problem | None = None
        """Why it was stopped, where it was."""
        self._lock = threading.Lock()  # guards the end: after it nothing is told
        self._alarm = self._loop.call_later(seconds, self.stop, late(seconds))
        self._over = over

    async def next(self) -> Step | Record:
        """The next step; or the record, which is the last.

        Raises:
            Problem: the question failed, or was stopped.
        """
        told = await self._told.get()
        if isinstance(told, Problem):
            raise told
        return told

    async def __aiter__(self) -> AsyncIterator[Step | Record]:
        while True:
            told = await self.next()
            yield told
            if isinstance(told, Record):
                return

    async def record(self) -> Record:
        """The record, once the question is answered.

        Raises:
            Problem: it failed, or was stopped.
        """
        while not isinstance(told := await self.next(), Record):
            pass
        return told

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
