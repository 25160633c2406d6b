"""Where the marks of a drawing stand: of an interval, and of points with their Pareto front.

Places are in pixels, from the left and from the top. `drawing.html` draws them as SVG; colours and line widths are in
the style sheet.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from eval.records.standing import Standing

__all__ = [
    "COLOURS",
    "SHAPES",
    "Axis",
    "Bar",
    "Chart",
    "Forest",
    "Mark",
    "Named",
    "Point",
    "Tick",
    "axis",
    "bar",
    "chart",
    "forest",
    "front",
]

SHAPES = (
    "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z",  # circle
    "M-4.5 -4.5H4.5V4.5H-4.5Z",  # square
    "M0 -6L6 0L0 6L-6 0Z",  # diamond
    "M0 -6L6 4.5H-6Z",  # triangle that points up
    "M0 6L6 -4.5H-6Z",  # triangle that points down
    "M-2 -6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z",  # plus
    "M-6 -3L-3 -6L0 -3L3 -6L6 -3L3 0L6 3L3 6L0 3L-3 6L-6 3L-3 0Z",  # cross
)
"""The outlines of the runs' markers, around their middle. With `COLOURS` they tell 56 runs apart."""

COLOURS = 8
"""How many colours the style sheet has for runs, c0 …"""

_WIDE = 7  # the width of a letter
_LOGARITHMIC = 20  # when the largest value is so many times the smallest, a linear axis crowds the small ones


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of a chart's grid, with what it stands for."""

    place: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """What the bars of a table are drawn on."""

    least: float
    most: float
    signed: bool
    ticks: tuple[Tick, ...]
    """The ends and the quarters, in percent."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A mean with its interval on an axis; the figures stand beside it as text."""

    width: ClassVar[int] = 216
    height: ClassVar[int] = 16
    grid: tuple[float, ...]
    """The places of the axis's ticks, but for that of 0."""
    zero: float | None
    """The place of 0; None where it is on no tick."""
    low: float
    mean: float
    high: float


@dataclass(frozen=True, slots=True)
class Named:
    """A bar with what it is of."""

    name: str
    bar: Bar
    run: int | None
    """The number of the run, where it is of one."""
    hollow: bool
    """Whether that run is a ceiling or a floor."""


@dataclass(frozen=True, slots=True)
class Forest:
    """The intervals of a table as one figure: bars with their names, one beneath the other, above their axis."""

    line: ClassVar[int] = 22
    title: str
    names: int
    """The width of the names."""
    bars: tuple[Named, ...]
    axis: Axis

    @property
    def width(self) -> int:
        return self.names + Bar.width + 12

    @property
    def height(self) -> int:
        return 34 + self.line * len(self.bars) + 18


@dataclass(frozen=True, slots=True)
class Point:
    """What one run costs and how well it answers."""

    name: str
    number: int
    """Of the run, from 0; it has its colour and marker from it."""
    kind: Standing
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
    number: int
    """Of the run."""
    hollow: bool
    """Whether it is a ceiling or a floor."""
    x: float
    y: float
    low: float
    """Where the interval of the score begins, from the top."""
    high: float
    name_x: float
    name_y: float
    leader: bool
    """Whether the name is so far away that a line must lead to it."""


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


def axis(least: float, most: float, *, signed: bool = False) -> Axis:
    """An axis for bars from `least` to `most`; its ticks have a sign if it is `signed`."""
    values = [least + (most - least) * n / 4 for n in range(5)]
    texts = [f"{100 * value:{'+' if signed and abs(value) > 1e-9 else ''}.4g}" for value in values]
    return Axis(least, most, signed, tuple(Tick(_at(v, least, most), t) for v, t in zip(values, texts, strict=True)))


def bar(mean: float, low: float, high: float, axis: Axis) -> Bar:
    """A mean with its interval on an axis."""
    zero = next((tick.place for tick in axis.ticks if tick.text in ("0", "-0")), None)
    places = (_at(value, axis.least, axis.most) for value in (low, mean, high))
    return Bar(tuple(tick.place for tick in axis.ticks if tick.place != zero), zero, *places)


def forest(title: str, bars: Sequence[Named], axis: Axis) -> Forest:
    """The bars, at least one, as one figure."""
    return Forest(title, 12 + _WIDE * max(len(each.name) for each in bars), tuple(bars), axis)


def _at(value: float, least: float, most: float) -> float:
    return round(6 + (Bar.width - 12) * (value - least) / (most - least), 1)


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
        costs=tuple(_apart([Tick(x(value), f"{value:g}") for value in marked])),
        scores=tuple(Tick(y(value), f"{100 * value:.0f}") for value in scores),
        marks=tuple(
            Mark(p.name, p.number, bool(p.kind), x(p.cost), y(p.score), y(p.low), y(p.high), *place)
            for p, place in zip(points, names, strict=True)
        ),
        fronts=tuple(corners(front(alike)) for alike in kinds if len(alike) > 1),
    )


def _apart(ticks: Sequence[Tick]) -> list[Tick]:
    """The ticks; a text for which there is no room behind the one before it is left out."""
    end, apart = -math.inf, []
    for tick in ticks:
        half = _WIDE * len(tick.text) / 2
        fits = tick.place - half > end
        apart.append(tick if fits else Tick(tick.place, ""))
        end = tick.place + half + 4 if fits else end
    return apart


def _name_places(marks: Sequence[tuple[str, float, float]]) -> list[tuple[float, float, bool]]:
    """A place for each name, near to its mark and clear of all marks and of the other names; and whether a line must
    lead to it."""
    taken = [(x - 7, y - 7, x + 7, y + 7) for _, x, y in marks]
    chosen = []
    for name, x, y in marks:
        wide = _WIDE * len(name) + 2
        steps = [(x + dx, y + dy) for dx in (9, -9 - wide, -wide / 2) for dy in (4, -9, 17)]
        rings = [(n * 10, k * math.tau / 16) for n in range(2, 40) for k in range(16)]
        places = steps + [(x - wide / 2 + far * math.cos(turn), y + 4 + far * math.sin(turn)) for far, turn in rings]
        boxes = [(left, base - 10, left + wide, base + 3) for left, base in places]
        free = [n for n, box in enumerate(boxes) if _inside(box) and not any(_meet(box, t) for t in taken)]
        number = free[0] if free else 0
        taken.append(boxes[number])
        chosen.append((round(places[number][0], 1), round(places[number][1], 1), number >= len(steps)))
    return chosen


def _inside(box: tuple[float, ...]) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= Chart.width and box[3] <= Chart.bottom


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
