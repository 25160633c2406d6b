"""What comes of a race: the front, one recommendation, and what so many questions can tell."""

from collections.abc import Sequence
from math import ceil, sqrt
from statistics import NormalDist

from eval.choosing.record import Point, Price, Recommendation, Told

__all__ = ["FEW", "front", "in_words", "recommend", "tell"]

FEW = 30
"""With fewer questions hardly any difference can be shown."""
_WANTED = 0.05  # the difference that is asked for
_REACH = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)  # of a test at 5 %, four times of five
_UNKNOWN = 0.25  # variance of differences where none was seen: two methods differ on every fourth question
_IN_WORDS: dict[Price, str] = {
    "usd": "dollars",
    "tokens": "tokens",
    "calls": "LM calls",
    "depth": "LM calls in a row",
    "seconds": "seconds",
}

_ONE = {price: words.replace("s", "", 1) if price == "depth" else words[:-1] for price, words in _IN_WORDS.items()}


def front(points: Sequence[Point], prices: Sequence[Price]) -> tuple[Point, ...]:
    """Those that no other beats at its price, the cheapest first. Without prices it is the best alone.

    Args:
        points: Candidates, each with its score and its prices.
        prices: Those that count.
    """
    kept = [point for point in points if not any(_beats(other, point, prices) for other in points if other != point)]
    first = {point.candidate: point for point in kept}  # of several that are equal in everything, one will do
    unique = {(point.score, *(point.prices[price] for price in prices)): point for point in reversed(first.values())}
    return tuple(sorted(unique.values(), key=lambda point: _costs(point, prices)))


def _beats(one: Point, other: Point, prices: Sequence[Price]) -> bool:
    mine, its = _costs(one, prices), _costs(other, prices)
    no_dearer = all(cost <= than for cost, than in zip(mine, its, strict=True))
    return no_dearer and (one.score > other.score or (one.score == other.score and mine != its))


def _costs(point: Point, prices: Sequence[Price]) -> list[float]:
    return [point.prices[price] or 0.0 for price in prices]


def recommend(
    points: Sequence[Point], prices: Sequence[Price], *, value: float | None = None, within: float | None = None
) -> Recommendation:
    """The one point of a front that is advised, and why.

    Args:
        points: The front.
        prices: Those that count; `value` and `within` are of the first.
        value: What a hundredth of the score is worth for a question.
        within: What a question may cost. Where every point costs more, the cheapest is advised, which is said.
    """
    best = max(points, key=lambda point: point.score)
    if not prices:
        return Recommendation(candidate=best.candidate, said=f"{_scored(best)} is the best score.")
    price = prices[0]
    affordable = [point for point in points if within is None or (point.prices[price] or 0.0) <= within]
    chosen = max(
        affordable or points[:1],
        key=lambda p: (100 * p.score * value - (p.prices[price] or 0.0)) if value is not None else p.score,
    )
    said = f"{_scored(chosen)} at {_paid(chosen, price)} for a question"
    if not affordable:
        said += f" is the cheapest, and none costs at most {within:g} {_IN_WORDS[price]}."
    elif value is not None:
        said += f" is the best buy where a point is worth {value:g} {_IN_WORDS[price]}."
    elif within is not None:
        said += f" is the best score for at most {within:g} {_IN_WORDS[price]}."
    else:
        said += " is the best score."
    if others := [point for point in points if point != chosen]:
        other = max(others, key=lambda point: point.score)
        gap = 100 * (other.score - chosen.score)
        more = "more" if gap > 0 else "less"
        said += f" Next to it, {other.candidate} has {abs(gap):.1f} points {more} at {_paid(other, price)}."
    return Recommendation(candidate=chosen.candidate, said=said)


def _scored(point: Point) -> str:
    return f"{point.candidate}: {100 * point.score:.1f} [{100 * point.low:.1f}, {100 * point.high:.1f}]"


def _paid(point: Point, price: Price) -> str:
    return in_words(price, point.prices[price])


def in_words(price: Price, amount: float | None) -> str:
    """An amount with its unit."""
    unit = _IN_WORDS[price]
    return f"an unknown number of {unit}" if amount is None else f"{amount:.4g} {unit if amount != 1 else _ONE[price]}"


def tell(questions: int, differences: Sequence[float]) -> Told:
    """What so many questions can tell, as an ordinary paired test would have it.

    Args:
        questions: How many are raced.
        differences: Of the scores of two candidates, question by question; those of the best two.
    """
    n = len(differences)
    mean = sum(differences) / n if n else 0.0
    variance = (sum((each - mean) ** 2 for each in differences) + 1) / n if n else _UNKNOWN  # as if one more differed
    shown = _REACH * sqrt(variance / questions)
    needed = ceil(_REACH**2 * variance / _WANTED**2)
    said = (
        f"{questions} questions show a difference of {100 * shown:.0f} points between two candidates four times of "
        f"five; for one of {100 * _WANTED:.0f} points about {needed:,} would be needed."
    )
    if questions < FEW:
        said = f"With fewer than {FEW} questions it cannot be known which of the better candidates is best: {said}"
    return Told(questions=questions, difference=min(1.0, shown), needed=needed, said=said)
