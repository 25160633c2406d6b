"""What lets LM calls begin: the limits hold whatever is under way."""

import math
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from support.patience import PATIENCE, eventually

from odqa.errors import UsageError
from odqa.limits import Limiter, Limits


class Calls:
    """LM calls that want to begin in threads of their own, and end when they are told to."""

    def __init__(self, limiter: Limiter, count: int, at_once: int = 64) -> None:
        self.limiter, self.at_once = limiter, at_once
        self.under_way = self.refused = 0
        self.over = False
        self.threads = [threading.Thread(target=self._begin, daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def _begin(self) -> None:
        if self.limiter.begin(self.at_once, lambda: self.over or self.limiter.reached() is not None):
            self.under_way += 1
        else:
            self.refused += 1

    def end(self, usd: float | None = 0.0, *, paid: bool = True) -> None:
        self.under_way -= 1
        if paid:
            self.limiter.count(usd)
        self.limiter.end()

    def joined(self) -> None:
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_a_call_that_may_be_one_too_many_waits_until_one_under_way_was_not_paid() -> None:
    limiter = Limiter(Limits(calls=3))
    calls = Calls(limiter, 64)
    eventually(lambda: calls.under_way == 3)
    calls.end(paid=False)
    eventually(lambda: calls.under_way == 3)  # its place is free
    calls.end()
    calls.end()
    assert (calls.under_way, calls.refused, limiter.calls_left()) == (1, 0, 1)
    calls.end()
    calls.joined()
    assert (limiter.paid, calls.refused, limiter.calls_left()) == (3, 60, 0)
    assert limiter.reached() == "the limit of 3 LM calls is reached"


def test_until_a_price_is_known_one_call_is_made_and_then_as_many_as_the_dearest_allows() -> None:
    limiter = Limiter(Limits(usd=1.0))
    calls = Calls(limiter, 64)
    eventually(lambda: calls.under_way == 1)
    assert limiter.allowed(64) == 1
    calls.end(0.125)
    eventually(lambda: calls.under_way == 7)
    assert limiter.allowed(64) == 7
    calls.end(0.25)
    assert limiter.allowed(64) == math.ceil(0.625 / 0.25)
    for _ in range(6):
        calls.end(0.125)
    calls.joined()
    assert limiter.paid_usd == 1.125  # less than one call too much
    assert limiter.reached() == "the limit of 1 US dollars is reached"


def test_a_free_call_holds_none_of_the_others_back_and_one_without_a_price_stops_all() -> None:
    limiter = Limiter(Limits(usd=1.0))
    calls = Calls(limiter, 16, at_once=8)
    eventually(lambda: calls.under_way == 1)
    calls.end(0.0)
    eventually(lambda: calls.under_way == 8)
    calls.end(None)
    calls.joined()
    assert limiter.reached() == "the price of an LM call is unknown, and so the limit of dollars cannot be held"


def test_the_next_run_asks_once_before_its_price_is_known_and_takes_what_is_left() -> None:
    limiter = Limiter(Limits(calls=5, usd=8.0))
    assert limiter.take_up("first")
    limiter.count(0.5, calls=2)
    assert limiter.allowed(64) == 3
    assert limiter.take_up("second")
    assert limiter.allowed(64) == 1
    assert not limiter.take_up("first")
    limiter.count(4.0)
    assert limiter.allowed(64) == 1
    assert limiter.calls_left() == 2


def test_who_waits_is_told_when_the_run_stops() -> None:
    limiter = Limiter()
    calls = Calls(limiter, 3, at_once=1)
    eventually(lambda: calls.under_way == 1)
    calls.over = True
    limiter.wake()
    calls.joined()
    assert calls.refused == 2


def test_minutes_count_from_when_the_limiter_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("odqa.limits.time", SimpleNamespace(monotonic=lambda: now))
    limiter = Limiter(Limits(minutes=2))
    now = 119.0
    assert limiter.reached() is None
    now = 120.0
    assert limiter.reached() == "the limit of 2 minutes is reached"


@pytest.mark.parametrize("limit", ["calls", "usd", "minutes"])
def test_a_limit_that_is_not_reached_stops_nothing(limit: str) -> None:
    limiter = Limiter(Limits(**{limit: 10}))
    limiter.count(1.0, calls=9)
    assert limiter.reached() is None


@pytest.mark.parametrize("limits", [{"calls": 0}, {"usd": -1.0}, {"minutes": 0.0}])
def test_a_limit_is_above_0(limits: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"the limit of {next(iter(limits))} must be above 0"):
        Limits(**limits)
