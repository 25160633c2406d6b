"""Who is asked and who leaves, in races over tables of scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from eval.choosing.race import Contest, Leave, Outcome, Rules


def run(scores: Any, costs: Sequence[float], **rules: Any) -> tuple[Contest, dict[int, tuple[int, Leave]]]:
    """The race over a table of scores, by candidate and question; with each candidate that left, when and why."""
    contest = Contest(len(scores), Rules(questions=len(scores[0]), **rules))
    left: dict[int, tuple[int, Leave]] = {}
    while block := contest.next_block():
        for one in contest.racing():
            prices: Any = {"calls": costs[one], "usd": None}
            found = [Outcome(scores[one][number], prices, int(costs[one]), 0.0) for number in block]
            contest.take(one, found)
        left |= {leave.candidate: (contest.asked, leave) for leave in contest.look()}
    return contest, left


def table(*means: float, questions: int = 100, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).random((len(means), questions)) < np.array(means)[:, None]).astype(float)


def test_a_worse_one_leaves_and_the_others_are_asked_to_the_end() -> None:
    scores = table(0.8, 0.8, 0.1)
    scores[1] = np.roll(scores[0], 1)  # just as good
    contest, left = run(scores, [1, 1, 1])
    assert contest.racing() == [0, 1]
    when, leave = left[2]
    assert (leave.why, leave.by in (0, 1), when < 40) == ("worse", True, True)
    assert [len(contest.scores(one)) for one in range(3)] == [100, 100, when]
    assert contest.p(2) <= 0.05 < contest.p(0)
    low, high = contest.interval(0)
    assert low < contest.score(0) < high


def test_with_a_price_only_who_is_better_and_not_dearer_drops_another() -> None:
    contest, left = run(table(0.9, 0.5, 0.1), [5, 2, 1], prices=("calls",))
    assert not left  # each is worse than a dearer one only
    assert contest.racing() == [2, 1, 0]
    contest, left = run(table(0.1, 0.5, 0.9), [5, 2, 1], prices=("calls",))
    assert {one: leave.why for one, (_, leave) in left.items()} == {0: "worse", 1: "worse"}
    assert contest.asked < 100  # nobody is left to race with


def test_two_prices_have_both_to_be_lower() -> None:
    contest = Contest(2, Rules(questions=50, prices=("calls", "depth")))
    outcomes: list[Any] = [{"calls": 2, "depth": 1}, {"calls": 1, "depth": 2}]
    while block := contest.next_block():
        for one in contest.racing():
            contest.take(one, [Outcome(float(one), outcomes[one], 1, 0.0)] * len(block))
        assert contest.look() == []
    assert contest.asked == 50


def test_what_is_dearer_than_may_be_paid_leaves_and_the_cheapest_stays() -> None:
    _, left = run(table(0.5, 0.5, 0.5), [9, 4, 2], prices=("calls",), within=3)
    assert {one: leave.why for one, (_, leave) in left.items()} == {0: "price", 1: "price"}
    contest, _ = run(table(0.5, 0.5), [9, 4], prices=("calls",), within=3)
    assert contest.racing() == [1]


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_a_limit_is_shared_among_ever_fewer_and_held(share: float) -> None:
    scores = table(*[0.4] * 6, 0.55, *[0.4] * 5, questions=200)
    costs = [1, 1, 1, 2, 2, 3, 3, 4, 5, 7, 10, 20]
    limit = share * sum(costs) * 200
    contest, left = run(scores, costs, calls=limit)
    assert 0.6 * limit <= contest.spent("calls") <= limit
    assert max(contest.racing(), key=contest.score) == 6
    assert {leave.why for _, leave in left.values()} <= {"limit", "worse"}
    assert left[11][0] == min(when for when, _ in left.values())  # the dearest is the first to leave


def test_a_part_of_the_limit_is_held_back_for_the_end() -> None:
    contest, _ = run(table(0.9, 0.8), [1, 3], calls=200, aside=20, direct=0)
    assert contest.spent("calls") <= 200 - 20


def test_a_limit_that_suffices_for_no_further_question_ends_the_race() -> None:
    contest, _ = run(table(0.5, 0.5, 0.5), [4, 4, 4], calls=25)
    assert (contest.short, contest.asked, contest.spent("calls")) == ("calls", 2, 24)


def test_one_without_any_answer_leaves_unless_all_are_so() -> None:
    for failing, left in (([0], [0]), ([0, 1], [])):
        contest = Contest(2, Rules(questions=10))
        block = contest.next_block()
        for one in contest.racing():
            contest.take(one, [Outcome(0.0, {"calls": 1}, 1, 0.0, failed=one in failing) for _ in block])
        assert [(leave.candidate, leave.why) for leave in contest.look()] == [(one, "failed") for one in left]
