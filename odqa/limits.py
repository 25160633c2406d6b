"""When LM calls stop: what was paid is counted by a limiter, over a run, over several runs or over a server's day."""

import math
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from odqa.errors import UsageError

__all__ = ["Limiter", "Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent; None means any amount. The calls of judges and of their self-tests count too.

    Raises:
        UsageError: one is not above 0.
    """

    calls: int | None = None
    """LM calls that are paid for, those of earlier sittings included."""
    usd: float | None = None
    """US dollars, likewise. A call whose price is unknown reaches the limit too."""
    minutes: float | None = None
    """Wall-clock time from when the limiter is made."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            limit = getattr(self, name)
            if limit is not None and not limit > 0:
                raise UsageError(f"the limit of {name} must be above 0, not {limit}")


class Limiter:
    """Counts LM calls and their price, and lets a call begin only if the limits hold even when all calls under way are
    paid for. Safe for many threads.

    A call that may be one too many waits until another has ended: if that was not paid for, because it failed or its
    reply was on record, its place is free again. So the number of calls is never exceeded.

    A price is known only when a call was paid for. So until the first one is, calls are made one by one, and then each
    call under way counts as much as the dearest so far. The limit of dollars is exceeded by less than one call, as long
    as no call costs more than the dearest before it. Runs that share a limiter are made one after the other, since
    their LMs may differ.

    Args:
        limits: What may be spent by all that this limiter counts.
    """

    def __init__(self, limits: Limits = Limits()) -> None:  # it is immutable
        self.limits = limits
        self.ends = None if limits.minutes is None else time.monotonic() + 60 * limits.minutes
        """When the minutes are over, by `time.monotonic()`."""
        self.paid = 0
        """LM calls that were paid for."""
        self.paid_usd: float | None = 0.0
        """Their price; None when that of any was unknown."""
        self._changed = threading.Condition()  # guards what is counted
        self._under_way = 0
        self._dearest: float | None = None  # call so far
        self._taken_up: set[Hashable] = set()

    def count(self, usd: float | None, calls: int = 1) -> None:
        """Count calls that were paid for, at this price in all; None if it is unknown."""
        with self._changed:
            self.paid += calls
            self.paid_usd = None if usd is None or self.paid_usd is None else self.paid_usd + usd
            if usd is not None and calls:
                self._dearest = max(self._dearest or 0.0, usd / calls)
            self._changed.notify_all()

    def take_up(self, record: Hashable) -> bool:
        """Begin with a run, which may ask another LM than the one before it: the dearest call is unknown again.

        Args:
            record: What holds the calls of its earlier sittings.

        Returns:
            Whether these have yet to be counted, which the caller then does.
        """
        with self._changed:
            self._dearest = None
            new = record not in self._taken_up
            self._taken_up.add(record)
            return new

    def reached(self) -> str | None:
        """Which limit is reached, in words; None if none is."""
        calls, usd = self.limits.calls, self.limits.usd
        if self.ends is not None and time.monotonic() >= self.ends:
            return f"the limit of {self.limits.minutes:g} minutes is reached"
        if calls is not None and self.paid >= calls:
            return f"the limit of {calls} LM calls is reached"
        if usd is not None and self.paid_usd is None:
            return "the price of an LM call is unknown, and so the limit of dollars cannot be held"
        if usd is not None and self.paid_usd is not None and self.paid_usd >= usd:
            return f"the limit of {usd:g} US dollars is reached"
        return None

    def calls_left(self) -> int | None:
        """How many LM calls may yet be paid for; None for any number."""
        return None if self.limits.calls is None else max(0, self.limits.calls - self.paid)

    def allowed(self, at_once: int) -> int:
        """How many of so many calls may be under way together."""
        limits, dearest = self.limits, self._dearest
        if limits.calls is not None:
            at_once = min(at_once, limits.calls - self.paid)
        if limits.usd is not None and dearest is None:
            at_once = min(at_once, 1)
        elif limits.usd is not None and self.paid_usd is not None and dearest:
            at_once = min(at_once, math.ceil((limits.usd - self.paid_usd) / dearest))
        return at_once

    def begin(self, at_once: int, is_over: Callable[[], bool]) -> bool:
        """Wait until a call may begin, which is under way from now on.

        Args:
            at_once: How many calls may be under way together.
            is_over: Whether the caller makes no more calls, as where a limit is `reached`; `wake` has it asked again.

        Returns:
            Whether the call may begin; False where the caller makes no more.
        """
        with self._changed:
            while not (over := is_over()) and self._under_way >= self.allowed(at_once):
                self._changed.wait(None if self.ends is None else max(0.0, self.ends - time.monotonic()))
            self._under_way += not over
            return not over

    def end(self) -> None:
        """A call that had begun has ended; `count` was told before whether it was paid for."""
        with self._changed:
            self._under_way -= 1
            self._changed.notify()

    def wake(self) -> None:
        """Have all who wait to begin look whether their caller makes no more calls."""
        with self._changed:
            self._changed.notify_all()
