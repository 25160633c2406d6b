"""When a run stops: what it may pay for, and how many LM calls may be under way so that it never pays for more."""

import math
import threading
import time
from dataclasses import dataclass

from odqa.bridge import Call, Watcher
from retrieval import UsageError

__all__ = ["Allowance", "Limits", "Stopped"]


@dataclass(frozen=True, slots=True)
class Limits:
    """When a run stops with what it has; None means never. The calls of judges and of their self-tests count too.

    Raises:
        UsageError: one is not above 0.
    """

    calls: int | None = None
    """LM calls that are paid for, those of earlier sittings of the run included."""
    usd: float | None = None
    """US dollars, likewise. A call whose price is unknown stops the run too."""
    minutes: float | None = None
    """Wall-clock time since the run was started or taken up."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            limit = getattr(self, name)
            if limit is not None and not limit > 0:
                raise UsageError(f"the limit of {name} must be above 0, not {limit}")


class Stopped(BaseException):
    """Ends a question, because the run makes no more LM calls. It is no Exception, so that programs and libraries that
    handle errors do not handle it."""


class Allowance(Watcher):
    """Lets an LM call begin only if the limits hold even when all calls under way are paid for. Safe for many threads.

    A call that may be one too many waits until another has ended: if that was not paid for, because it failed or its
    reply was on record, its place is free again. So the number of calls is never exceeded.

    A price is known only when a call was paid for. So until the first one is, calls are made one by one, and then each
    call under way counts as much as the dearest so far. The limit of dollars is exceeded by less than one call, as long
    as no call costs more than the dearest before it.

    Args:
        limits: When to stop.
        at_once: LM calls under way at the same time.
    """

    waits = True
    stopping: threading.Event

    def __init__(self, limits: Limits, at_once: int) -> None:
        self.stopped: str | None = None
        """Why no more calls are made, if so."""
        self.trouble: Exception | None = None
        """What is wrong with the run, if that is why."""
        self.paid = 0
        self.paid_usd: float | None = 0.0
        """None when the price of a call was unknown."""
        self._limits = limits
        self._at_once = at_once
        self.ends = None if limits.minutes is None else time.monotonic() + 60 * limits.minutes
        self.stopping = threading.Event()
        self._changed = threading.Condition()  # guards `paid` and what follows
        self._under_way = 0
        self._dearest: float | None = None  # call so far

    def count(self, usd: float | None, calls: int = 1) -> None:
        """Calls were paid for, at this price in all; None if it is unknown."""
        with self._changed:
            self.paid += calls
            self.paid_usd = None if usd is None or self.paid_usd is None else self.paid_usd + usd
            if usd is not None and calls:
                if self._dearest is None:
                    self._changed.notify_all()  # more calls may be under way from now on
                self._dearest = max(self._dearest or 0.0, usd / calls)

    def stop(self, reason: str) -> None:
        """Make no more calls."""
        with self._changed:
            self.stopped = self.stopped or reason
            self.stopping.set()
            self._changed.notify_all()

    def fail(self, trouble: Exception) -> None:
        """Make no more calls, because the run cannot go on.

        Raises:
            Stopped: always; it ends the question.
        """
        self.trouble = self.trouble or trouble
        self.stop(str(trouble))
        raise Stopped

    def exhausted(self) -> bool:
        """Whether a limit is reached, or `stop` was called."""
        limits = self._limits
        if self.ends is not None and time.monotonic() >= self.ends:
            self.stop(f"the limit of {limits.minutes:g} minutes is reached")
        if limits.calls is not None and self.paid >= limits.calls:
            self.stop(f"the limit of {limits.calls} LM calls is reached")
        if limits.usd is not None and self.paid_usd is None:
            self.stop("the price of an LM call is unknown, and so the limit of dollars cannot be held")
        elif limits.usd is not None and self.paid_usd is not None and self.paid_usd >= limits.usd:
            self.stop(f"the limit of {limits.usd:g} US dollars is reached")
        return self.stopped is not None

    def allowed(self, at_once: int) -> int:
        """How many of so many calls may be under way together."""
        limits, dearest = self._limits, self._dearest
        if limits.calls is not None:
            at_once = min(at_once, limits.calls - self.paid)
        if limits.usd is not None and dearest is None:
            at_once = min(at_once, 1)
        elif limits.usd is not None and self.paid_usd is not None and dearest:
            at_once = min(at_once, math.ceil((limits.usd - self.paid_usd) / dearest))
        return at_once

    def pause(self, seconds: float) -> None:
        """Sleep, but return at once when the run stops."""
        self.stopping.wait(seconds)

    def begin(self) -> None:
        """Wait until a call may begin, which is under way from now on.

        Raises:
            Stopped: no more calls are made. It is no `Exception`, so that nothing handles it on its way.
        """
        with self._changed:
            while not self.exhausted() and self._under_way >= self.allowed(self._at_once):
                self._changed.wait(None if self.ends is None else max(0.0, self.ends - time.monotonic()))
            if self.stopped:
                raise Stopped
            self._under_way += 1

    def end(self) -> None:
        """A call that had begun has ended; `count` was told before whether it was paid for."""
        with self._changed:
            self._under_way -= 1
            self._changed.notify()

    def on_call_start(self, call: Call) -> None:
        self.begin()

    def on_call_end(self, call: Call) -> None:
        self.end()
