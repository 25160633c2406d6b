"""What lets LM calls begin: the limits hold whatever is under way."""

import math
import threading
from typing import Any

import pytest
from support.patience import PATIENCE, eventually

from eval.calls.limits import Allowance, Limits, Stopped
from retrieval import UsageError


class Calls:
    """LM calls that want to begin in threads of their own, and end when they are told to."""

    def __init__(self, allowance: Allowance, count: int) -> None:
        self.allowance = allowance
        self.under_way = self.refused = 0
        self.threads = [threading.Thread(target=self._begin, daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def _begin(self) -> None:
        try:
            self.allowance.begin()
            self.under_way += 1
        except Stopped:
            self.refused += 1

    def end(self, usd: float | None = 0.0, *, paid: bool = True) -> None:
        self.under_way -= 1
        if paid:
            self.allowance.count(usd)
        self.allowance.end()

    def joined(self) -> None:
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_a_call_that_may_be_one_too_many_waits_until_one_under_way_was_not_paid() -> None:
    allowance = Allowance(Limits(calls=3), at_once=64)
    calls = Calls(allowance, 64)
    eventually(lambda: calls.under_way == 3)
    calls.end(paid=False)
    eventually(lambda: calls.under_way == 3)  # its place is free
    calls.end()
    calls.end()
    assert calls.under_way == 1
    assert not calls.refused
    calls.end()
    calls.joined()
    assert (allowance.paid, calls.refused) == (3, 60)
    assert allowance.stopped == "the limit of 3 LM calls is reached"


def test_until_a_price_is_known_one_call_is_made_and_then_as_many_as_the_dearest_allows() -> None:
    allowance = Allowance(Limits(usd=1.0), at_once=64)
    calls = Calls(allowance, 64)
    eventually(lambda: calls.under_way == 1)
    assert allowance.allowed(64) == 1
    calls.end(0.125)
    eventually(lambda: calls.under_way == 7)
    assert allowance.allowed(64) == 7
    calls.end(0.25)
    assert allowance.allowed(64) == math.ceil(0.625 / 0.25)
    for _ in range(6):
        calls.end(0.125)
    calls.joined()
    assert allowance.paid_usd == 1.125  # less than one call too much
    assert allowance.stopped == "the limit of 1 US dollars is reached"


def test_a_free_call_holds_none_of_the_others_back_and_one_without_a_price_stops_all() -> None:
    allowance = Allowance(Limits(usd=1.0), at_once=8)
    calls = Calls(allowance, 16)
    eventually(lambda: calls.under_way == 1)
    calls.end(0.0)
    eventually(lambda: calls.under_way == 8)
    calls.end(None)
    calls.joined()
    assert allowance.stopped == "the price of an LM call is unknown, and so the limit of dollars cannot be held"


def test_who_waits_is_told_when_the_run_stops() -> None:
    allowance = Allowance(Limits(), at_once=1)
    calls = Calls(allowance, 3)
    eventually(lambda: calls.under_way == 1)
    allowance.stop("interrupted")
    calls.joined()
    assert calls.refused == 2


@pytest.mark.parametrize("limit", ["calls", "usd", "minutes"])
def test_a_limit_that_is_not_reached_stops_nothing(limit: str) -> None:
    allowance = Allowance(Limits(**{limit: 10}), at_once=4)
    allowance.count(1.0, calls=9)
    assert not allowance.exhausted()


@pytest.mark.parametrize("limits", [{"calls": 0}, {"usd": -1.0}, {"minutes": 0.0}])
def test_a_limit_is_above_0(limits: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"the limit of {next(iter(limits))} must be above 0"):
        Limits(**limits)
