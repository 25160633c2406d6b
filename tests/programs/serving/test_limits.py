from datetime import UTC, datetime

import pytest

from programs.instruments.cost import Reply
from programs.serving.limits import Day, Limits
from programs.serving.problems import Problem
from retrieval import UsageError

pytestmark = pytest.mark.needs("uvicorn")


def paid(usd: float | None, *, cached: bool = False) -> Reply:
    return Reply("answer", cached, 1, 1, usd)


def test_a_new_day_begins_at_midnight() -> None:
    now = [datetime(2026, 5, 1, 23, 59, 30, tzinfo=UTC)]
    day = Day(Limits(calls=1, usd=0.5), lambda: now[0])
    day.begin()
    with pytest.raises(Problem, match="the limit of 1 LM calls is reached today") as caught:
        day.check()
    assert caught.value.headers == {"Retry-After": "30"}
    now[0] = datetime(2026, 5, 2, 0, 0, 0, tzinfo=UTC)
    day.check()
    day.pay(paid(0.25))
    day.pay(paid(None, cached=True))
    day.check()
    day.pay(paid(0.25))
    with pytest.raises(Problem, match=r"the limit of 0\.5 US dollars is reached today"):
        day.begin()


def test_without_limits_nothing_is_refused() -> None:
    day = Day(Limits())
    for usd in (None, 1e9):
        day.begin()
        day.pay(paid(usd))
    day.check()


@pytest.mark.parametrize(
    "name", ["at_once", "seconds", "question_calls", "calls", "usd", "question", "body", "arrival", "grace"]
)
def test_limits_are_above_nothing(name: str) -> None:
    for wrong in (-1, float("nan"), *([] if name == "grace" else [0])):
        with pytest.raises(UsageError, match=f"the limit of {name} must be"):
            Limits(**{name: wrong})  # type: ignore[arg-type]
