from support.records import a_manifest, a_row

from eval.figures.costs import costs
from eval.figures.summary import Score
from eval.reports.formats import COST_COLUMNS, cost_lines, cost_notes, heading, interval, p_value, percent, usd
from programs.instruments.cost import Cost, Spent
from programs.instruments.trace import Trace, Turn

SPENT = Spent(3, 1, 300, 30, 0.5, 200, 20, 0.25)


def test_figures() -> None:
    assert (heading("em"), heading("own")) == ("EM", "own")
    assert percent(Score(0.125, 2, 0.1, 0.2), 2) == "12.5"
    assert percent(Score(0.125, 2, 0.1, 0.2), 3) == "12.5 (2)"
    assert (interval(0.1, 0.25), interval(-0.1, 0.25, "+")) == ("[10.0, 25.0]", "[-10.0, +25.0]")
    assert (p_value(0.001), p_value(0.0009)) == ("0.001", "<0.001")
    assert (usd(None), usd(0.25)) == ("unknown", "0.250000")


def test_lines_of_costs_say_which_are_parts() -> None:
    rows = [
        a_row("1", cost=Cost(3, 1, 300, 30, 0.5, 200, 20, 0.25, 2, 0, 1.0, {"read": SPENT}), judging={"judge": SPENT}),
        a_row("2", trace=Trace(steps=(Turn(number=1, shown=("1", "lm:2")),))),
    ]
    lines = cost_lines(costs(rows, a_manifest()))
    assert [(line.label, line.part) for line in lines] == [
        ("per question of 2", False),
        ("read", True),
        ("altogether", False),
        ("paid in this run", True),
        ("besides, judge", False),
        ("paid in this run", True),
    ]
    assert {len(line.cells) for line in lines} == {len(COST_COLUMNS)}
    assert lines[0].cells == ("1.50", "150.00", "15.00", "0.250000", "1.00", "0.50")
    assert lines[2].cells == ("3", "300", "30", "0.500000", "2", "1.00")
    assert lines[3].cells == lines[5].cells == ("2", "200", "20", "0.250000", "", "")
    notes = cost_notes(costs(rows, a_manifest()))
    assert [note.rpartition(" ")[2] for note in notes] == ["0.00", "1.00", "1.00"]
