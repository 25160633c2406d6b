"""Drawings as SVG: an interval, the intervals of a table, and scores against costs with their Pareto front.

Places are in pixels, from the left and from the top. Colours and line widths are in `drawing.css`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from eval.records.standing import Standing
from eval.reports.html.visible import visible

__all__ = ["Axis", "Drawing", "Interval", "Point", "bar", "chart", "forest", "front", "key", "scale"]


class Interval(NamedTuple):
    """A mean with its interval, as shares."""

    mean: float
    low: float
    high: float


_SHAPES = (
    "M5 0A5 5 0 1 1 -5 0A5 5 0 1 1 5 0Z",  # circle
    "M-4.5 -4.5H4.5V4.5H-4.5Z",  # square
    "M0 -6L6 0L0 6L-6 0Z",  # diamond
    "M0 -6L6 4.5H-6Z",  # triangle that points up
    "M0 6L6 -4.5H-6Z",  # triangle that points down
    "M-2 -6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z",  # plus
    "M-6 -3L-3 -6L0 -3L3 -6L6 -3L3 0L6 3L3 6L0 3L-3 6L-6 3L-3 0Z",  # cross
)  # the outlines of the runs' markers, around their middle; with the colours they tell 56 runs apart
_COLOURS = 8  # for runs; `drawing.css` has them as c0 …

_LETTER = 7  # the width of a letter
_BAR = 216  # the width of the drawing of an interval
_LINE = 22  # the height of a line of a forest
_WIDE, _HIGH = 380, 270  # a chart, and its plot
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 362, 12, 228
_LOGARITHMIC = 20  # when the largest value is so many times the smallest, a linear axis crowds the small ones


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing, for the page or for a file of its own."""

    title: str
    """All of it in words."""
    width: int
    height: int
    marks: Markup

    def on_page(self) -> Markup:
        return _svg("chart", self.width, self.height, _element("title", self.title), self.marks, role="img")

    def as_file(self, style: str) -> str:
        """The text of an SVG file with this style sheet."""
        back = _element("rect", class_="back", width="100%", height="100%")
        sheet = Markup("<style>{}</style>").format(Markup(style))  # noqa: S704  # a file of this package
        about = {"xmlns": "http://www.w3.org/2000/svg", "width": self.width, "height": self.height}
        return _svg(None, self.width, self.height, _element("title", self.title), sheet, back, self.marks, **about)


@dataclass(frozen=True, slots=True)
class Axis:
    """What the intervals in a column of a table are drawn on."""

    least: float
    most: float
    signed: bool = False
    """Whether its numbers have a sign."""

    def place(self, value: float) -> float:
        return round(6 + (_BAR - 12) * (value - self.least) / (self.most - self.least), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Places and numbers of the ends and the quarters, in percent."""
        values = [self.least + (self.most - self.least) * n / 4 for n in range(5)]
        signs = ["+" if self.signed and abs(value) > 1e-9 else "" for value in values]
        return [(self.place(value), f"{100 * value:{sign}.4g}") for value, sign in zip(values, signs, strict=True)]


def key(run: int, hollow: bool) -> Markup:
    """The marker beside a run's name."""
    shape = _marker(run, 0, 0, hollow)
    return _element("svg", shape, class_="key", viewBox="-8 -8 16 16", width=14, height=14, aria_hidden="true")


def bar(interval: Interval, axis: Axis, run: int | None = None, hollow: bool = False) -> Markup:
    """A mean with its interval, beside which the figures stand as text.

    Args:
        interval: Both.
        axis: What they are drawn on.
        run: The number of the run that they are of, from 0; it has its colour and marker from it.
        hollow: Whether that run is a ceiling or a floor.
    """
    marks = [_grid(axis, 16), *_interval(interval, axis, run, hollow)]
    return _svg("interval", _BAR, 16, *marks, width=_BAR, height=16, aria_hidden="true")


def scale(axis: Axis) -> Markup:
    """The numbers of an axis, for above the intervals that are drawn on it."""
    first, *_, last = (text for _, text in axis.ticks())
    label = f"Axis from {first} to {last}"
    return _svg("interval", _BAR, 14, _numbers(axis), width=_BAR, height=14, role="img", aria_label=label)


def forest(title: str, axis: Axis, lines: Sequence[tuple[str, Interval, int | None, bool]]) -> Drawing:
    """Intervals one beneath the other, above their axis.

    Args:
        title: Of the drawing.
        axis: What they are drawn on.
        lines: Of each its name, and what `bar` takes; at least one.
    """
    names = 12 + _LETTER * max(len(name) for name, *_ in lines)
    end = 30 + _LINE * len(lines)
    marks = [_element("text", title, class_="name", x=6, y=18), _moved(names, 30, _grid(axis, _LINE * len(lines)))]
    for n, (name, interval, run, hollow) in enumerate(lines):
        marks.append(_element("text", name, x=6, y=42 + _LINE * n))
        marks.append(_moved(names, 30 + _LINE * n, *_interval(interval, axis, run, hollow)))
    marks.append(_moved(names, end, _numbers(axis)))
    return Drawing(title, names + _BAR + 12, end + 22, Markup("\n").join(marks))


@dataclass(frozen=True, slots=True)
class Point:
    """What one run costs and how well it answers."""

    name: str
    number: int
    """The number of the run, from 0; it has its colour and marker from it."""
    kind: Standing
    """Empty for a language model. Only runs of one kind share a front."""
    cost: float
    score: float
    low: float
    """Where the interval of the score begins."""
    high: float
    way: Sequence[tuple[float, float]] = ()
    """Costs and scores that it had before: a line leads along them."""
    dropped: bool = False
    """Whether it left a race: it is on no front."""

    @property
    def hollow(self) -> bool:
        return bool(self.kind) or self.dropped


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other point beats, the cheapest first.

    A point beats another if it costs no more and scores no less, and is better in at least one of the two.
    """

    def beats(one: Point, other: Point) -> bool:
        at_least = one.cost <= other.cost and one.score >= other.score
        return at_least and (one.cost, one.score) != (other.cost, other.score)

    return sorted((p for p in points if not any(beats(other, p) for other in points)), key=lambda p: p.cost)


def chart(points: Sequence[Point], *, across: str, up: str, fronts: bool = True) -> Drawing:
    """The points with the intervals of their scores, and the front of each kind that has several points.

    Args:
        points: At least one.
        across: What the costs are.
        up: What the scores are.
        fronts: Whether the fronts are drawn.
    """
    before = [place for point in points for place in point.way]
    costs = [*(point.cost for point in points), *(cost for cost, _ in before)]
    ends = [*(end for point in points for end in (point.low, point.high)), *(score for _, score in before)]
    log = not before and min(costs) > 0 and max(costs) / min(costs) > _LOGARITHMIC  # what happens in turn is even
    marked = _decades(min(costs), max(costs)) if log else _steps(max(costs))
    scores = _percents(min(ends), max(ends))

    def x(cost: float) -> float:
        first, last, value = (math.log(v) if log else v for v in (marked[0], marked[-1], cost))
        return round(_LEFT + (_RIGHT - _LEFT) * (value - first) / (last - first), 1)

    def y(score: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (score - scores[0]) / (scores[-1] - scores[0]), 1)

    title = f"{up} against {across}. " + "; ".join(f"{p.name}: {p.cost:.4g}, {100 * p.score:.1f}" for p in points)
    name = across + (" (logarithmic)" if log else "")
    marks = [
        *_rules([(x(cost), f"{cost:g}") for cost in marked], [(y(score), f"{100 * score:.0f}") for score in scores]),
        _element("text", name, x=_RIGHT, y=_HIGH - 8, text_anchor="end"),
        *(_fronts([point for point in points if not point.dropped], x, y) if fronts else []),
        *_marks(points, x, y),
    ]
    return Drawing(title, _WIDE, _HIGH, Markup("\n").join(marks))


def _rules(costs: Sequence[tuple[float, str]], scores: Sequence[tuple[float, str]]) -> list[Markup]:
    """The grid, with the numbers for which there is room behind those before them."""
    marks, end = [], -math.inf
    for place, text in costs:
        half = _LETTER * len(text) / 2
        marks.append(_element("line", class_="grid", x1=place, x2=place, y1=_TOP, y2=_BOTTOM))
        if place - half > end:
            marks.append(_element("text", text, x=place, y=_BOTTOM + 15, text_anchor="middle"))
            end = place + half + 4
    for place, text in scores:
        marks.append(_element("line", class_="grid", x1=_LEFT, x2=_RIGHT, y1=place, y2=place))
        marks.append(_element("text", text, x=_LEFT - 6, y=place + 4, text_anchor="end"))
    return marks


def _fronts(points: Sequence[Point], x: Callable[[float], float], y: Callable[[float], float]) -> list[Markup]:
    """A stepped line for each kind of which there are several points."""
    marks = []
    for kind in dict.fromkeys(point.kind for point in points):
        if sum(point.kind == kind for point in points) > 1:
            best = front([point for point in points if point.kind == kind])
            places = [(x(best[0].cost), y(best[0].score))]
            for before, point in pairwise(best):
                places += [(x(point.cost), y(before.score)), (x(point.cost), y(point.score))]
            places.append((_RIGHT, y(best[-1].score)))
            marks.append(_element("polyline", class_="front", points=_corners(places)))
    return marks


def _corners(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{left},{top}" for left, top in places)


def _along(ways: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[float, float]]:
    """Places on the lines, close enough that no name fits between them."""
    parts = [(*one, *other, math.ceil(math.dist(one, other) / 6)) for way in ways for one, other in pairwise(way)]
    return [(x + (u - x) * n / count, y + (v - y) * n / count) for x, y, u, v, count in parts for n in range(count)]


def _marks(points: Sequence[Point], x: Callable[[float], float], y: Callable[[float], float]) -> list[Markup]:
    """The intervals of the scores; before them the markers with their names."""
    below, above = [], []
    ways = [[(x(cost), y(score)) for cost, score in [*p.way, (p.cost, p.score)]] for p in points]
    names = _name_places([(p.name, *way[-1]) for p, way in zip(points, ways, strict=True)], _along(ways))
    for p, way, (left, base, far) in zip(points, ways, names, strict=True):
        at, top = way[-1]
        colour = f"c{p.number % _COLOURS}"
        below.append(_element("line", class_=f"thin {colour}", x1=at, x2=at, y1=y(p.low), y2=y(p.high)))
        if p.way:
            below.append(_element("polyline", class_=f"whisker {colour}", points=_corners(way)))
        if far:
            below.append(_element("line", class_="leader", x1=at, x2=left + 7, y1=top, y2=base - 4))
        above.append(_marker(p.number, at, top, p.hollow))
        above.append(_element("text", p.name, class_="name", x=left, y=base))
    return below + above


def _name_places(
    marks: Sequence[tuple[str, float, float]], lines: Sequence[tuple[float, float]] = ()
) -> list[tuple[float, float, bool]]:
    """A place for each name, near to its mark and clear of all marks, of the other names and of places on lines; and
    whether it is so far away that a line must lead to it."""
    taken = [(x - 7, y - 7, x + 7, y + 7) for _, x, y in marks] + [(x, y, x, y) for x, y in lines]
    chosen = []
    for name, x, y in marks:
        wide = _LETTER * len(name) + 2
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
    return box[0] >= 0 and box[1] >= 0 and box[2] <= _WIDE and box[3] <= _BOTTOM


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


def _marker(run: int, x: float, y: float, hollow: bool) -> Markup:
    kind = f"mark c{run % _COLOURS}{' hollow' if hollow else ''}"
    return _element("path", class_=kind, d=_SHAPES[run % len(_SHAPES)], transform=f"translate({x} {y})")


def _interval(interval: Interval, axis: Axis, run: int | None, hollow: bool) -> tuple[Markup, Markup]:
    mean, low, high = map(axis.place, interval)
    line = f"M{low} 8H{high}M{low} 4v8M{high} 4v8"
    if run is None:
        return _element("path", class_="whisker", d=line), _element("circle", class_="mark", cx=mean, cy=8, r=4)
    return _element("path", class_=f"whisker c{run % _COLOURS}", d=line), _marker(run, mean, 8, hollow)


def _grid(axis: Axis, height: int) -> Markup:
    kinds = [(place, "zero" if text in ("0", "-0") else "grid") for place, text in axis.ticks()]
    return Markup("").join(_element("path", class_=kind, d=f"M{place} 0v{height}") for place, kind in kinds)


def _numbers(axis: Axis) -> Markup:
    return Markup("").join(_element("text", text, x=x, y=11, text_anchor="middle") for x, text in axis.ticks())


def _moved(x: int, y: int, *marks: Markup) -> Markup:
    return _element("g", *marks, transform=f"translate({x} {y})")


def _svg(kind: str | None, wide: int, high: int, *marks: Markup, **about: object) -> Markup:
    return _element("svg", *marks, class_=kind, viewBox=f"0 0 {wide} {high}", **about)


def _element(tag: str, *inside: str, **about: object) -> Markup:
    """An element; its texts are escaped. In the name of an attribute, _ stands for -."""
    known = {name.strip("_").replace("_", "-"): value for name, value in about.items() if value is not None}
    attributes = Markup("").join(Markup(' {}="{}"').format(name, value) for name, value in known.items())
    return Markup("<{0}{1}>{2}</{0}>").format(tag, attributes, Markup("").join(map(visible, inside)))
