"""What the answers server allows, and what it has spent today."""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from odqa.limits import Limiter
from odqa.limits import Limits as DayLimits
from programs.instruments.cost import Reply
from programs.serving.problems import Problem
from retrieval import UsageError

__all__ = ["Day", "Limits", "Places", "Spent"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server allows.

    Raises:
        UsageError: a limit is too low to answer anything.
    """

    at_once: int = 64
    """Most questions and searches in flight; any more are answered with 503. One whose time is over does not count. One
    whose client went away counts until the LM calls that it has begun end."""
    seconds: float = 300.0
    """Longest time for a question or a search, which then ends with 504."""
    question_calls: int = 1000
    """Most LM calls of a question, which then ends with 400: its settings ask for more than it may cost."""
    question_tokens: int = 1_000_000
    """Most tokens of a question: of its prompts, its replies and the passages that it finds, 4 characters each. Then it
    ends with 400."""
    calls: int | None = None
    """Most LM calls a day, by UTC; then 429. None for any number; likewise `usd`."""
    usd: float | None = None
    """Most US dollars a day. The calls that are under way when it is reached are still paid for. Where the price of a
    call is unknown the limit cannot be held, and counts as reached."""
    question: int = 16_384
    """Longest question, in characters."""
    body: int = 2**20
    """Largest body of a request, in bytes."""
    arrival: float = 10.0
    """Seconds in which a request must arrive, else 408."""
    grace: float = 30.0
    """Seconds that questions in flight have to be answered when the server stops; then they end with 503."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            limit, may_be_0 = getattr(self, name), name == "grace"
            if limit is not None and not (limit > 0 or (may_be_0 and limit == 0)):
                least = "at least 0" if may_be_0 else "above 0"
                raise UsageError(f"the limit of {name} must be {least}, not {limit}")


class Places:
    """The places of the questions and searches that may be in flight. Safe for many threads."""

    def __init__(self, most: int) -> None:
        self.free = most
        self._lock = threading.Lock()  # guards the number

    def take(self) -> Callable[[], None]:
        """Take a place.

        Returns:
            What gives it back; a second call does nothing.

        Raises:
            Problem: with 503, there is none.
        """
        with self._lock:
            if not self.free:
                raise Problem(503, "too many questions are in flight; try again later", "busy", {"Retry-After": "1"})
            self.free -= 1
        taken = [True]

        def give_back() -> None:
            with self._lock:
                if taken:
                    taken.clear()
                    self.free += 1

        return give_back


class Spent:
    """The LM calls and the tokens of one question. Safe for many threads."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()  # guards what follows
        self._calls = self._characters = 0

    def begin(self) -> None:
        """Count an LM call that is about to begin.

        Raises:
            Problem: with 400, the question has had its share; the call may not begin.
        """
        with self._lock:
            self._calls += 1
            calls, tokens = self._limits.question_calls, self._limits.question_tokens
            too_much = f"{calls:,} LM calls" if self._calls > calls else None
            if self._characters > 4 * tokens:
                too_much = f"{tokens:,} tokens of prompts, replies and passages"
        if too_much:
            why = f"a question takes at most {too_much} here: ask for fewer by its settings"
            raise Problem(400, why, "invalid_request", param="settings")

    def add(self, characters: int) -> None:
        """Count what an LM was shown and replied, or a search found."""
        with self._lock:
            self._characters += characters


class Day:
    """The LM calls of today and their price. Safe for many threads.

    Args:
        limits: What the server allows.
        now: Gives the time.
    """

    def __init__(self, limits: Limits, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._limits, self._now = DayLimits(calls=limits.calls, usd=limits.usd), now
        self._lock = threading.RLock()  # guards what follows
        self._date, self._limiter = now().date(), Limiter(self._limits)

    def check(self) -> None:
        """Raise where a limit is reached.

        Raises:
            Problem: with 429, and when to come again.
        """
        now = self._now()
        with self._lock:
            if now.date() != self._date:
                self._date, self._limiter = now.date(), Limiter(self._limits)
            reached = self._limiter.reached()
        if reached:
            midnight = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
            wait = {"Retry-After": str(math.ceil((midnight - now).total_seconds()))}
            raise Problem(429, f"{reached} today; a new day begins at midnight UTC", "limit_reached", wait)

    def begin(self) -> None:
        """Count an LM call that is about to begin.

        Raises:
            Problem: as `check`; the call may not begin.
        """
        with self._lock:
            self.check()
            self._limiter.count(0.0)

    def pay(self, reply: Reply) -> None:
        """Add the price of a call that was answered."""
        if not reply.cached:
            self._limiter.count(reply.usd, calls=0)
