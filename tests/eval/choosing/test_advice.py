"""The front, the recommendation, and what so many questions can tell."""

from typing import Any

import pytest

from eval.choosing.advice import front, in_words, recommend, tell
from eval.choosing.record import Point


def point(name: str, score: float, calls: float, depth: float = 1.0) -> Point:
    prices: Any = {"usd": None, "tokens": 100 * calls, "calls": calls, "depth": depth, "seconds": 0.1}
    return Point(candidate=name, score=score, low=score - 0.1, high=score + 0.1, prices=prices, questions=40)


POINTS = [point("migres", 0.55, 10, 4), point("cot", 0.5, 1), point("ircot", 0.6, 4, 4), point("direct", 0.45, 1)]


def test_the_front_has_the_best_for_each_price() -> None:
    assert [each.candidate for each in front(POINTS, ("calls",))] == ["cot", "ircot"]
    assert [each.candidate for each in front([*POINTS, point("das", 0.58, 20, 2)], ("calls",))] == ["cot", "ircot"]
    deep = front([*POINTS, point("das", 0.58, 20, 2)], ("calls", "depth"))
    assert [each.candidate for each in deep] == ["cot", "ircot", "das"]
    assert [each.candidate for each in front(POINTS, ())] == ["ircot"]
    assert [each.candidate for each in front([point("a", 0.5, 1), point("b", 0.5, 1)], ("calls",))] == ["a"]


@pytest.mark.parametrize(
    ("how", "chosen", "said"),
    [
        (
            {},
            "ircot",
            "ircot: 60.0 [50.0, 70.0] at 4 LM calls for a question is the best score. Next to it, cot has 10.0",
        ),
        ({"value": 1.0}, "ircot", "is the best buy where a point is worth 1 LM calls."),
        ({"value": 0.1}, "cot", "cot: 50.0 [40.0, 60.0] at 1 LM call for a question is the best buy"),
        ({"within": 2}, "cot", "is the best score for at most 2 LM calls. Next to it, ircot has 10.0 points more at 4"),
        ({"within": 0.5}, "cot", "is the cheapest, and none costs at most 0.5 LM calls."),
    ],
)
def test_one_is_recommended_in_a_sentence(how: dict[str, float], chosen: str, said: str) -> None:
    advice = recommend(front(POINTS, ("calls",)), ("calls",), **how)
    assert advice.candidate == chosen
    assert said in advice.said


def test_without_prices_the_best_score_is_recommended() -> None:
    assert recommend(front(POINTS, ()), ()).said == "ircot: 60.0 [50.0, 70.0] is the best score."


def test_amounts_have_their_units() -> None:
    assert [in_words("depth", 1), in_words("depth", 2.5), in_words("usd", None)] == [
        "1 LM call in a row",
        "2.5 LM calls in a row",
        "an unknown number of dollars",
    ]


def test_what_so_many_questions_tell() -> None:
    many = tell(100, [1.0, -1.0] * 10 + [0.0] * 80)
    # The variance with one more difference is 0.21, and 2.8 standard errors are reached four times of five.
    assert many.difference == pytest.approx(2.8 * (0.21 / 100) ** 0.5, rel=0.01)
    assert many.needed == pytest.approx(2.8**2 * 0.21 / 0.05**2, rel=0.01)
    assert many.said.startswith("100 questions show a difference of 13 points")
    few = tell(20, [])
    assert few.said.startswith(
        "With fewer than 30 questions it cannot be known which of the better candidates is best: 20"
    )
    assert "for one of 5 points about 785 would be needed" in few.said
