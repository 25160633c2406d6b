import pytest

from eval.reports.html.drawing import Chart, Point, bar, chart, front


def point(name: str, cost: float, score: float, kind: str = "") -> Point:
    return Point(name, kind, cost, score, score, score)


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
    drawn = chart([Point(f"R{n}", "", cost, n / 10, 0.0, 1.0) for n, cost in enumerate(costs)], across="s", up="EM")
    assert len(drawn.marks) == len(costs)
    for mark in drawn.marks:
        assert Chart.left <= mark.x <= Chart.right
        assert Chart.top <= mark.high <= mark.y <= mark.low <= Chart.bottom


def test_each_kind_has_its_mark_and_its_front() -> None:
    points = [
        point("a", 1, 0.2),
        point("b", 2, 0.4),
        point("c", 1, 0.9, "ceiling"),
        point("d", 1, 0, "floor"),
    ]
    drawn = chart(points, across="seconds", up="EM")
    assert [mark.shape for mark in drawn.marks] == ["dot", "dot", "up", "down"]
    (stairs,) = drawn.fronts  # only the language models are several
    a, b = drawn.marks[:2]
    assert stairs == f"{a.x},{a.y} {b.x},{a.y} {b.x},{b.y} {Chart.right},{b.y}"
    assert drawn.title == "EM against seconds. a: 1, 20.0; b: 2, 40.0; c: 1, 90.0; d: 1, 0.0"


def test_an_axis_is_logarithmic_where_costs_are_far_apart() -> None:
    assert chart([point("a", 1, 0), point("b", 30, 1)], across="s", up="EM").across == "s (logarithmic)"
    assert chart([point("a", 0, 0), point("b", 30, 1)], across="s", up="EM").across == "s"


def test_an_interval_is_where_it_should_be() -> None:
    drawn = bar(0.0, -0.5, 1.0, least=-1.0, most=1.0)
    assert (drawn.mean, drawn.low, drawn.high, drawn.zero) == (108.0, 57.0, 210.0, 108.0)
    assert drawn.grid == (6.0, 57.0, 159.0, 210.0)
    assert bar(0.5, 0.2, 0.7).zero == 6.0
