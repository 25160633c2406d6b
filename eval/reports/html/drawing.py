"""Figures drawn as SVG: intervals, and points with the Pareto front. Colours and sizes are the style sheet's."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from eval.reports.html.markup import Html, tag

__all__ = ["Point", "front", "interval", "scatter"]

_BAR = (216, 16)  # width and height of an interval
_CHART = (380, 270)
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 18, 12, 42  # margins of a chart
_LOGARITHMIC = 20  # largest value over smallest: from here on a linear axis would put the small ones into one place


class Point(NamedTuple):
    """What one run costs and what it is worth."""

    name: str
    kind: str
    """The runs of a kind are compared: "" for language models, or ceiling …, floor …."""
    cost: float
    score: float
    low: float
    high: float


def interval(mean: float, low: float, high: float, *, least: float = 0.0, most: float = 1.0) -> Html:
    """A point with its interval on an axis from `least` to `most`, with five marks; the figures are to stand beside."""
    width, height = _BAR
    middle = height / 2

    def at(value: float) -> float:
        return round(6 + (width - 12) * (value - least) / (most - least), 1)

    marks = [least + (most - least) * n / 4 for n in range(5)]
    return tag(
        "svg",
        *(tag("line", x1=at(m), x2=at(m), y1=0, y2=height, class_="zero" if abs(m) < 1e-9 else "grid") for m in marks),
        tag("line", x1=at(low), x2=at(high), y1=middle, y2=middle, class_="whisker"),
        *(tag("line", x1=at(end), x2=at(end), y1=middle - 4, y2=middle + 4, class_="end") for end in (low, high)),
        tag("circle", cx=at(mean), cy=middle, r=4, class_="dot"),
        class_="interval",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        aria_hidden="true",
    )


def front(points: Sequence[Point]) -> list[Point]:
    """Those that no other one beats, the cheapest first: none costs as little and is worth more, or costs less and is
    worth as much."""

    def beats(one: Point, other: Point) -> bool:
        at_least = one.cost <= other.cost and one.score >= other.score
        return at_least and (one.cost, one.score) != (other.cost, other.score)

    return sorted((p for p in points if not any(beats(other, p) for other in points)), key=lambda p: p.cost)


def scatter(points: Sequence[Point], *, across: str, up: str) -> Html:
    """The points with the intervals of their scores, and for each kind of which there are several the front.

    Args:
        points: At least one.
        across: What the costs are.
        up: What the scores are.
    """
    width, height = _CHART
    costs = [point.cost for point in points]
    log = min(costs) > 0 and max(costs) / min(costs) > _LOGARITHMIC
    ticks = _decades(min(costs), max(costs)) if log else _steps(max(costs))
    scores = _percents(min(point.low for point in points), max(point.high for point in points))

    def x(cost: float) -> float:
        low, high, value = (math.log(v) if log else v for v in (ticks[0], ticks[-1], cost))
        return round(_LEFT + (width - _LEFT - _RIGHT) * (value - low) / (high - low), 1)

    def y(score: float) -> float:
        return round(height - _BOTTOM - (height - _BOTTOM - _TOP) * (score - scores[0]) / (scores[-1] - scores[0]), 1)

    parts = [
        *(tag("line", x1=x(t), x2=x(t), y1=_TOP, y2=height - _BOTTOM, class_="grid") for t in ticks),
        *(tag("line", x1=_LEFT, x2=width - _RIGHT, y1=y(s), y2=y(s), class_="grid") for s in scores),
        *(tag("text", f"{t:g}", x=x(t), y=height - _BOTTOM + 15, text_anchor="middle") for t in ticks),
        *(tag("text", f"{100 * s:.0f}", x=_LEFT - 6, y=y(s) + 4, text_anchor="end") for s in scores),
        tag("text", across + (" (logarithmic)" if log else ""), x=width - _RIGHT, y=height - 8, text_anchor="end"),
    ]
    for kind in dict.fromkeys(point.kind for point in points):
        best = front([point for point in points if point.kind == kind])
        if sum(point.kind == kind for point in points) > 1:
            corners = [f"{x(best[0].cost)},{y(best[0].score)}"]
            for before, point in pairwise(best):
                corners += [f"{x(point.cost)},{y(before.score)}", f"{x(point.cost)},{y(point.score)}"]
            corners.append(f"{width - _RIGHT},{y(best[-1].score)}")
            parts.append(tag("polyline", points=" ".join(corners), class_="front"))
    for point in points:
        parts.append(tag("line", x1=x(point.cost), x2=x(point.cost), y1=y(point.low), y2=y(point.high), class_="thin"))
    parts += [_marker(point.kind, x(point.cost), y(point.score)) for point in points]
    parts += _names([(point.name, x(point.cost), y(point.score)) for point in points])
    what = "; ".join(f"{p.name}: {p.cost:.4g}, {100 * p.score:.1f}" for p in points)
    return tag(
        "svg",
        tag("title", f"{up} against {across}. {what}"),
        *parts,
        class_="chart",
        viewBox=f"0 0 {width} {height}",
        role="img",
    )


def _marker(kind: str, x: float, y: float) -> Html:
    """A circle for language models; what no language model reaches or falls below points up or down."""
    if not kind:
        return tag("circle", cx=x, cy=y, r=5, class_="dot")
    tip = -6 if kind.startswith("ceiling") else 6
    return tag("path", d=f"M{x} {y + tip}l6 {-1.7 * tip:.1f}h-12z", class_="dot hollow")


def _names(marks: Sequence[tuple[str, float, float]]) -> list[Html]:
    """Each name beside its mark, where no other one is yet."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for _, x, y in marks]
    labels = []
    for name, x, y in marks:
        wide = 7 * len(name) + 2
        places = [(x + 8, y + dy) for dy in (4, -8, 16, -20, 28)] + [(x - 8 - wide, y + dy) for dy in (4, -8, 16)]
        boxes = [(left, base - 10, left + wide, base + 2) for left, base in places]
        free = [n for n, box in enumerate(boxes) if box[2] < _CHART[0] and not any(_meet(box, t) for t in taken)]
        chosen = free[0] if free else 0
        taken.append(boxes[chosen])
        labels.append(tag("text", name, x=places[chosen][0], y=places[chosen][1], class_="name"))
    return labels


def _meet(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _steps(most: float) -> list[float]:
    """Round numbers from 0 to at least `most`, five or so."""
    if most <= 0:
        return [0.0, 1.0]
    size = 10 ** math.floor(math.log10(most / 4))
    step = next(size * n for n in (1, 2, 2.5, 5, 10) if most / (size * n) <= 5)
    return [step * n for n in range(math.ceil(most / step - 1e-9) + 1)]


def _percents(least: float, most: float) -> list[float]:
    """Tens or twenties of a percent around these, six at most."""
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
