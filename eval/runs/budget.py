"""Limits over several runs that are made one after the other."""

import time
from collections.abc import Iterable
from pathlib import Path

from eval.calls.limits import Limits
from eval.records.call_log import CallLog
from eval.runs.store import glance
from retrieval import OdqaError

__all__ = ["Budget", "NothingLeft"]


class NothingLeft(OdqaError):
    """A limit over several runs is reached: the next one cannot be started."""


class Budget:
    """What several runs may cost together: it gives each run the limits that the others leave it.

    What a run paid for in earlier sittings counts, as it does in a run's own limits. Minutes count from here on.

    Args:
        limits: Of all runs together.
        directories: The runs, as far as they are known. Others count from when their limits are asked for.
    """

    def __init__(self, limits: Limits, directories: Iterable[Path] = ()) -> None:
        self._limits = limits
        self._started = time.monotonic()
        self._paid = {directory: _paid(directory) for directory in directories} if limits != Limits() else {}
        self._running: Path | None = None

    def left_for(self, directory: Path, *, finished: bool = False) -> Limits:
        """The limits of the next run.

        Args:
            directory: Where it is or will be.
            finished: Whether it has nothing left to ask: then there is no limit.

        Raises:
            NothingLeft: a limit is reached.
            UsageError: the record of a run's calls is damaged.
        """
        limits = self._limits
        if limits == Limits():
            return limits
        for changed in {directory, self._running or directory}:
            self._paid[changed] = _paid(changed)
        self._running = directory
        if finished:
            return Limits()
        minutes, calls, usd = limits.minutes, limits.calls, limits.usd
        if minutes is not None and (minutes := minutes - (time.monotonic() - self._started) / 60) <= 0:
            raise NothingLeft(f"the limit of {limits.minutes:g} minutes is reached")
        others = [paid for other, paid in self._paid.items() if other != directory]
        own_calls, own_usd = self._paid[directory]
        if calls is not None and (calls := calls - sum(count for count, _ in others)) <= own_calls:
            raise NothingLeft(f"the limit of {limits.calls} LM calls is reached")
        if usd is not None and (usd := usd - sum(price for _, price in others)) <= own_usd:
            raise NothingLeft(f"the limit of {limits.usd:g} US dollars is reached")
        return Limits(calls=calls, usd=usd, minutes=minutes)


def _paid(directory: Path) -> tuple[int, float]:
    """The LM calls that the run paid for so far, and the dollars; those of unknown price count 0: a run that is to hold
    a limit of dollars stops at the first of them."""
    if not (directory / "manifest.json").exists():
        return 0, 0.0
    calls = [call.usd or 0.0 for call in CallLog(directory / "calls.jsonl").read()]
    tests = glance(directory).manifest.self_tests.values()
    dollars = sum(calls) + sum(test.paid_usd or 0.0 for test in tests)
    return len(calls) + sum(test.lm_calls - test.cached_calls for test in tests), dollars
