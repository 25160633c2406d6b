from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.reports.html.drawing import Axis, Interval, Point, bar, chart, front

WIDE, LEFT, RIGHT, TOP, BOTTOM = 380, 44, 362, 12, 228  # of a chart, and of its plot


def point(name: str, cost: float, score: float, kind: Any = "") -> Point:
    return Point(name, 0, kind, cost, score, score, score)


def points(*places: tuple[float, float]) -> list[Point]:
    return [Point(f"R{n}", n, "", cost, score, 0.0, 1.0) for n, (cost, score) in enumerate(places)]


def drawn(of: list[Point], across: str = "s") -> Element:
    return fromstring(chart(of, across=across, up="EM").on_page())


def having(drawing: Element, kind: str) -> list[Element]:
    """The elements of a class."""
    return [each for each in drawing.iter() if kind in each.get("class", "").split()]


def markers(drawing: Element) -> list[tuple[float, float]]:
    texts = [str(each.get("transform")).removeprefix("translate(").rstrip(")") for each in having(drawing, "mark")]
    return [(float(x), float(y)) for x, y in map(str.split, texts)]


def number(element: Element, name: str) -> float:
    return float(str(element.get(name)))


def test_the_front_has_what_no_other_point_beats() -> None:
    some = [
        point(*p) for p in [("a", 1, 0.2), ("b", 2, 0.2), ("c", 2, 0.5), ("d", 5, 0.4), ("e", 9, 0.9), ("f", 1, 0.1)]
    ]
    assert [p.name for p in front(some)] == ["a", "c", "e"]
    assert [p.name for p in front([*some, point("g", 9, 0.9)])] == ["a", "c", "e", "g"]
    assert front([]) == []


@pytest.mark.parametrize(
    "costs",
    [[0.0], [0.0, 0.0], [1.0, 1000.0], [3.0], [1e-7, 1.0], [7.0, 7.0, 7.0], [0.1, 0.15], [5.0, 100.0]],
    ids=str,
)
def test_every_mark_is_inside_of_the_chart(costs: list[float]) -> None:
    drawing = drawn(points(*((cost, n / 10) for n, cost in enumerate(costs))))
    places, intervals = markers(drawing), having(drawing, "thin")
    assert len(places) == len(intervals) == len(costs)
    for (x, y), line in zip(places, intervals, strict=True):
        assert LEFT <= x <= RIGHT
        assert TOP <= number(line, "y2") <= y <= number(line, "y1") <= BOTTOM


def test_ceilings_and_floors_are_hollow_and_have_fronts_of_their_own() -> None:
    some = [point("a", 1, 0.2), point("b", 2, 0.4), point("c", 1, 0.9, "ceiling"), point("d", 1, 0, "floor")]
    drawing = drawn(some, "seconds")
    assert ["hollow" in str(each.get("class")) for each in having(drawing, "mark")] == [False, False, True, True]
    (stairs,) = having(drawing, "front")  # only the language models are several
    a, b = markers(drawing)[:2]
    assert stairs.get("points") == f"{a[0]},{a[1]} {b[0]},{a[1]} {b[0]},{b[1]} {RIGHT},{b[1]}"
    assert drawing[0].text == "EM against seconds. a: 1, 20.0; b: 2, 40.0; c: 1, 90.0; d: 1, 0.0"


def test_an_axis_is_logarithmic_where_costs_are_far_apart() -> None:
    assert ">s (logarithmic)<" in chart([point("a", 1, 0), point("b", 30, 1)], across="s", up="EM").marks
    assert ">s<" in chart([point("a", 0, 0), point("b", 30, 1)], across="s", up="EM").marks


@settings(max_examples=30)
@given(
    places=st.lists(
        st.tuples(st.sampled_from([1.0, 1.1, 7.0]), st.sampled_from([0.4, 0.41, 0.9])), min_size=1, max_size=16
    )
)
def test_names_stand_clear_of_each_other_and_of_all_marks(places: list[tuple[float, float]]) -> None:
    drawing = drawn(points(*places))
    texts = [(number(each, "x"), number(each, "y"), 7 * len(str(each.text))) for each in having(drawing, "name")]
    names = [(x, y - 10, x + wide, y + 2) for x, y, wide in texts]
    marks = [(x - 6, y - 6, x + 6, y + 6) for x, y in markers(drawing)]
    for one, other in [*combinations(names, 2), *((name, mark) for name in names for mark in marks)]:
        assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
    assert all(left >= 0 and top >= 0 and right <= WIDE for left, top, right, _ in names)


def test_numbers_for_which_there_is_no_room_are_left_out() -> None:
    drawing = drawn([point("a", 1e-5, 0), point("b", 900, 1)])
    costs = [each for each in drawing.iter("text") if each.get("y") == str(BOTTOM + 15)]
    shown = [(number(each, "x"), 3.5 * len(str(each.text))) for each in costs]
    lines = [each for each in having(drawing, "grid") if each.get("x1") == each.get("x2")]
    assert 3 < len(shown) < len(lines)
    assert all(one[0] + one[1] < other[0] - other[1] for one, other in pairwise(shown))


def test_an_interval_is_where_it_should_be() -> None:
    axis = Axis(-1.0, 1.0, signed=True)
    drawing = fromstring(bar(Interval(0.0, -0.5, 1.0), axis))
    assert having(drawing, "whisker")[0].get("d") == "M57.0 8H210.0M57.0 4v8M210.0 4v8"
    assert having(drawing, "mark")[0].get("cx") == "108.0"
    assert [each.get("d") for each in having(drawing, "zero")] == ["M108.0 0v16"]
    assert [each.get("d") for each in having(drawing, "grid")] == [f"M{x} 0v16" for x in (6.0, 57.0, 159.0, 210.0)]
    assert [text for _, text in Axis(-0.3, 0.3, signed=True).ticks()] == ["-30", "-15", "0", "+15", "+30"]


def test_what_left_a_race_is_hollow_and_on_no_front() -> None:
    some = [point("a", 1, 0.2), point("b", 2, 0.4), replace(point("c", 1, 0.9), dropped=True)]
    drawing = drawn(some)
    assert ["hollow" in str(each.get("class")) for each in having(drawing, "mark")] == [False, False, True]
    (stairs,) = having(drawing, "front")
    a, b = markers(drawing)[:2]
    assert str(stairs.get("points")).startswith(f"{a[0]},{a[1]} {b[0]},{a[1]}")
    without = fromstring(chart(some, across="s", up="EM", fronts=False).on_page())
    assert not having(without, "front")


def test_a_line_leads_along_where_a_point_was_and_its_name_stands_clear_of_it() -> None:
    drawing = drawn([replace(point("a name", 60, 0.5), way=[(2, 0.9), (31, 0.1)])])
    assert "logarithmic" not in "".join(drawing.itertext())
    (way,) = having(drawing, "whisker")
    places = [tuple(map(float, place.split(","))) for place in str(way.get("points")).split()]
    assert places[-1] == markers(drawing)[0]
    (x, _), (middle, _), (end, _) = places
    assert middle - x == pytest.approx(end - middle, abs=0.2)
    assert all(LEFT <= x <= RIGHT and TOP <= y <= BOTTOM for x, y in places)
    (name,) = having(drawing, "name")
    left, base = number(name, "x"), number(name, "y")
    right = left + 7 * len("a name")
    for (x, y), (u, v) in pairwise(places):
        along = [(x + (u - x) * n / 500, y + (v - y) * n / 500) for n in range(500)]
        assert not any(left < a < right and base - 8 < b < base for a, b in along)
