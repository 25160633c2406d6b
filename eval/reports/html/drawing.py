"""Where the marks of a drawing stand: of an interval, and of points with their Pareto front.

Places are in pixels, from the left and from the top. `drawing.html` draws them as SVG; colours and line widths are in
the style sheet.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

__all__ = ["Bar", "Chart", "Mark", "Point", "Tick", "bar", "chart", "front"]

_SHAPES: dict[str, Literal["dot", "up", "down"]] = {"": "dot", "ceiling": "up", "floor": "down"}
_LOGARITHMIC = 20  # when the largest value is so many times the smallest, a linear axis crowds the small ones


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of a chart's grid, with what it stands for."""

    place: float
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A mean with its interval on an axis; the figures stand beside it as text."""

    width: ClassVar[int] = 216
    height: ClassVar[int] = 16
    grid: tuple[float, ...]
    """The ends of the axis and its quarters, but for the place of 0."""
    zero: float | None
    """The place of 0; None where it is on no line of the grid."""
    low: float
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class Point:
    """What one run costs and how well it answers."""

    name: str
    kind: Literal["", "ceiling", "floor"]
    """Empty for a language model. Only runs of one kind share a front."""
    cost: float
    score: float
    low: float
    """Where the interval of the score begins."""
    high: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A point on a chart."""

    name: str
    shape: Literal["dot", "up", "down"]
    """A dot for a language model, a triangle that points up for a ceiling, one that points down for a floor."""
    x: float
    y: float
    low: float
    """Where the interval of the score begins, from the top."""
    high: float
    name_x: float
    name_y: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Scores against costs."""

    width: ClassVar[int] = 380
    height: ClassVar[int] = 270
    left: ClassVar[int] = 44
    right: ClassVar[int] = 362
    top: ClassVar[int] = 12
    bottom: ClassVar[int] = 228
    title: str
    """All of it in words."""
    across: str
    """What the costs are."""
    costs: tuple[Tick, ...]
    scores: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    fronts: tuple[str, ...]
    """The corners of each Pareto front, as SVG's polyline has them."""


def bar(mean: float, low: float, high: float, *, least: float = 0.0, most: float = 1.0) -> Bar:
    """A mean with its interval on an axis from `least` to `most`."""

    def at(value: float) -> float:
        return round(6 + (Bar.width - 12) * (value - least) / (most - least), 1)

    values = [least + (most - least) * n / 4 for n in range(5)]
    zero = next((at(value) for value in values if abs(value) < 1e-9), None)
    return Bar(tuple(at(value) for value in values if at(value) != zero), zero, at(low), at(mean), at(high))


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other point beats, the cheapest first.

    A point beats another if it costs no more and scores no less, and is better in at least one of the two.
    """

    def beats(one: Point, other: Point) -> bool:
        at_least = one.cost <= other.cost and one.score >= other.score
        return at_least and (one.cost, one.score) != (other.cost, other.score)

    return sorted((p for p in points if not any(beats(other, p) for other in points)), key=lambda p: p.cost)


def chart(points: Sequence[Point], *, across: str, up: str) -> Chart:
    """The points with the intervals of their scores, and the front of each kind that has several points.

    Args:
        points: At least one.
        across: What the costs are.
        up: What the scores are.
    """
    costs = [point.cost for point in points]
    log = min(costs) > 0 and max(costs) / min(costs) > _LOGARITHMIC
    marked = _decades(min(costs), max(costs)) if log else _steps(max(costs))
    scores = _percents(min(point.low for point in points), max(point.high for point in points))

    def x(cost: float) -> float:
        first, last, value = (math.log(v) if log else v for v in (marked[0], marked[-1], cost))
        return round(Chart.left + (Chart.right - Chart.left) * (value - first) / (last - first), 1)

    def y(score: float) -> float:
        return round(Chart.bottom - (Chart.bottom - Chart.top) * (score - scores[0]) / (scores[-1] - scores[0]), 1)

    def corners(best: Sequence[Point]) -> str:
        places = [(best[0].cost, best[0].score)]
        for before, point in pairwise(best):
            places += [(point.cost, before.score), (point.cost, point.score)]
        return " ".join([*(f"{x(cost)},{y(score)}" for cost, score in places), f"{Chart.right},{y(best[-1].score)}"])

    kinds = [[p for p in points if p.kind == kind] for kind in dict.fromkeys(point.kind for point in points)]
    names = _name_places([(point.name, x(point.cost), y(point.score)) for point in points])
    return Chart(
        title=f"{up} against {across}. " + "; ".join(f"{p.name}: {p.cost:.4g}, {100 * p.score:.1f}" for p in points),
        across=across + (" (logarithmic)" if log else ""),
        costs=tuple(Tick(x(value), f"{value:g}") for value in marked),
        scores=tuple(Tick(y(value), f"{100 * value:.0f}") for value in scores),
        marks=tuple(
            Mark(p.name, _SHAPES[p.kind], x(p.cost), y(p.score), y(p.low), y(p.high), *place)
            for p, place in zip(points, names, strict=True)
        ),
        fronts=tuple(corners(front(alike)) for alike in kinds if len(alike) > 1),
    )


def _name_places(marks: Sequence[tuple[str, float, float]]) -> list[tuple[float, float]]:
    """A place for each name beside its mark, clear of the marks and of the other names."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for _, x, y in marks]
    chosen = []
    for name, x, y in marks:
        wide = 7 * len(name) + 2
        places = [(x + 8, y + dy) for dy in (4, -8, 16, -20, 28)] + [(x - 8 - wide, y + dy) for dy in (4, -8, 16)]
        boxes = [(left, base - 10, left + wide, base + 2) for left, base in places]
        free = [n for n, box in enumerate(boxes) if box[2] < Chart.width and not any(_meet(box, t) for t in taken)]
        number = free[0] if free else 0
        taken.append(boxes[number])
        chosen.append((round(places[number][0], 1), round(places[number][1], 1)))
    return chosen


def _meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _steps(most: float) -> list[float]:
    """About five round numbers, from 0 to at least `most`."""
    if most <= 0:
        return [0.0, 1.0]
    size = 10 ** math.floor(math.log10(most / 4))
    step = next(size * n for n in (1, 2, 2.5, 5, 10) if most / (size * n) <= 5)
    return [step * n for n in range(math.ceil(most / step - 1e-9) + 1)]


def _percents(least: float, most: float) -> list[float]:
    """Multiples of 10 or 20 percent around these, six at most."""
    step = 1 if most - least < 0.4 else 2
    first = math.floor(10 * least / step + 1e-9) * step
    last = max(math.ceil(10 * most / step - 1e-9) * step, first + step)
    return [n / 10 for n in range(first, last + 1, step)]


def _decades(least: float, most: float) -> list[float]:
    """1, 10, 100 … around these, and 3, 30 … between them."""
    exponents = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    marks = [float(f"{n}e{exponent}") for exponent in exponents for n in (1, 3)]
    first = max(n for n, mark in enumerate(marks) if mark <= least)
    last = min(n for n, mark in enumerate(marks) if mark >= most)
    return marks[first : last + 1]
