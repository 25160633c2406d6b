from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.reports.html.drawing import Chart, Point, axis, bar, chart, front


def point(name: str, cost: float, score: float, kind: str = "") -> Point:
    return Point(name, 0, kind, cost, score, score, score)


def test_the_front_has_what_no_other_point_beats() -> None:
    points = [
        point(*p) for p in [("a", 1, 0.2), ("b", 2, 0.2), ("c", 2, 0.5), ("d", 5, 0.4), ("e", 9, 0.9), ("f", 1, 0.1)]
    ]
    assert [p.name for p in front(points)] == ["a", "c", "e"]
    assert [p.name for p in front([*points, point("g", 9, 0.9)])] == ["a", "c", "e", "g"]
    assert front([]) == []


@pytest.mark.parametrize(
    "costs",
    [[0.0], [0.0, 0.0], [1.0, 1000.0], [3.0], [1e-7, 1.0], [7.0, 7.0, 7.0], [0.1, 0.15], [5.0, 100.0]],
)
def test_every_mark_is_inside_of_the_chart(costs: list[float]) -> None:
    drawn = chart([Point(f"R{n}", n, "", cost, n / 10, 0.0, 1.0) for n, cost in enumerate(costs)], across="s", up="EM")
    assert len(drawn.marks) == len(costs)
    for mark in drawn.marks:
        assert Chart.left <= mark.x <= Chart.right
        assert Chart.top <= mark.high <= mark.y <= mark.low <= Chart.bottom


def test_ceilings_and_floors_are_hollow_and_have_fronts_of_their_own() -> None:
    points = [
        point("a", 1, 0.2),
        point("b", 2, 0.4),
        point("c", 1, 0.9, "ceiling"),
        point("d", 1, 0, "floor"),
    ]
    drawn = chart(points, across="seconds", up="EM")
    assert [mark.hollow for mark in drawn.marks] == [False, False, True, True]
    (stairs,) = drawn.fronts  # only the language models are several
    a, b = drawn.marks[:2]
    assert stairs == f"{a.x},{a.y} {b.x},{a.y} {b.x},{b.y} {Chart.right},{b.y}"
    assert drawn.title == "EM against seconds. a: 1, 20.0; b: 2, 40.0; c: 1, 90.0; d: 1, 0.0"


def test_an_axis_is_logarithmic_where_costs_are_far_apart() -> None:
    assert chart([point("a", 1, 0), point("b", 30, 1)], across="s", up="EM").across == "s (logarithmic)"
    assert chart([point("a", 0, 0), point("b", 30, 1)], across="s", up="EM").across == "s"


@settings(max_examples=30)
@given(
    places=st.lists(
        st.tuples(st.sampled_from([1.0, 1.1, 7.0]), st.sampled_from([0.4, 0.41, 0.9])), min_size=1, max_size=16
    )
)
def test_names_stand_clear_of_each_other_and_of_all_marks(places: list[tuple[float, float]]) -> None:
    drawn = chart([Point(f"R{n}", n, "", *place, 0.0, 1.0) for n, place in enumerate(places, 1)], across="s", up="EM")
    names = [(m.name_x, m.name_y - 10, m.name_x + 7 * len(m.name), m.name_y + 2) for m in drawn.marks]
    for one, other in [
        *combinations(names, 2),
        *((n, (m.x - 6, m.y - 6, m.x + 6, m.y + 6)) for n in names for m in drawn.marks),
    ]:
        assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
    assert all(left >= 0 and top >= 0 and right <= Chart.width for left, top, right, _ in names)


def test_numbers_for_which_there_is_no_room_are_left_out() -> None:
    ticks = chart([point("a", 1e-5, 0), point("b", 900, 1)], across="s", up="EM").costs
    shown = [(tick.place - 3.5 * len(tick.text), tick.place + 3.5 * len(tick.text)) for tick in ticks if tick.text]
    assert 3 < len(shown) < len(ticks)
    assert all(one[1] < other[0] for one, other in pairwise(shown))


def test_an_interval_is_where_it_should_be() -> None:
    drawn = bar(0.0, -0.5, 1.0, axis(-1.0, 1.0, signed=True))
    assert (drawn.mean, drawn.low, drawn.high, drawn.zero) == (108.0, 57.0, 210.0, 108.0)
    assert drawn.grid == (6.0, 57.0, 159.0, 210.0)
    assert bar(0.5, 0.2, 0.7, axis(0.0, 1.0)).zero == 6.0
    assert [tick.text for tick in axis(-0.3, 0.3, signed=True).ticks] == ["-30", "-15", "0", "+15", "+30"]
