from support.records import a_manifest, a_reply, a_row

from eval.figures.comparison import Compared
from eval.figures.costs import costs
from eval.figures.summary import Score, summarise
from eval.records.record import PaidCall
from eval.reports.formats import (
    COST_COLUMNS,
    cost_lines,
    cost_notes,
    heading,
    interval,
    p_value,
    passages_lines,
    passages_warning,
    percent,
    usd,
)
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


def test_runs_that_rest_on_far_more_passages_than_others_are_said_to() -> None:
    def run(found: float, shown: float | None) -> Compared:
        return Compared(f"{found}", f"{found}", 0, summarise([], 0, a_manifest()), found, shown)

    assert passages_warning([run(5, 5), run(64, 5.1)]) == (
        "Not alike: the runs find 5.0 to 64.0 passages per question. That may be why they differ."
    )
    assert "are shown 2.0 to 9.0 texts per question, and the runs find" in str(passages_warning([run(5, 2), run(9, 9)]))
    assert passages_warning([run(0, None), run(0.5, 1)]) is None
    lines = passages_lines([run(5, None), run(64, 4)])
    assert [line.values for line in lines] == [["5.0", "64.0"], ["–", "4.0"]]
    assert passages_lines([run(5, 4), run(5, 4)]) == []


def test_lines_of_costs_say_which_are_parts() -> None:
    rows = [
        a_row(
            "1", cost=Cost(3, 1, 300, 30, 0.5, 200, 20, 0.25, 2, 0, 3, 1.0, {"read": SPENT}), judging={"judge": SPENT}
        ),
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
    calls = [PaidCall(question="1", key="k", usd=0.0, reply=a_reply(), predictor="p", prompt=()) for _ in range(3)]
    calls[1].reply["finish_reason"] = "length"
    notes = cost_notes(costs(rows, a_manifest()), calls)
    assert [note.rpartition(" ")[2] for note in notes[:3]] == ["0.00", "1.00", "1.00"]
    assert notes[3:] == ["replies cut off at the limit of tokens: 1 of 3"]
    assert len(cost_notes(costs(rows, a_manifest()), [])) == 3
