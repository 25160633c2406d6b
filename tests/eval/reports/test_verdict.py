import pytest
from support.records import a_row, a_run

from eval.figures.comparison import compare
from eval.figures.summary import summarise
from eval.records.run import Run
from eval.reports.verdict import of_one, verdict
from programs.instruments.cost import Cost


def run(name: str, right: int, n: int = 30, *, calls: int = 1, metric: str = "em") -> Run:
    rows = [a_row(f"q{i}", scores={metric: float(i < right)}, cost=Cost(calls), answers=["Rome"]) for i in range(n)]
    return a_run(name, rows, {"task": "t", "program": name, "metrics": [metric]})


@pytest.mark.parametrize(
    ("calls", "cost"),
    [
        (7, "a seventh of the LM calls"),
        (2, "half of the LM calls"),
        (1, "as many LM calls"),
        (30, "3.3 % of the LM calls"),
        (0, "1 LM call per question, and blend 0"),
    ],
)
def test_two_runs_are_one_sentence(calls: int, cost: str) -> None:
    said = verdict(compare([run("blend", 11, calls=calls), run("cot", 15)]))
    assert said == f"cot answered 4 more of 30 exactly; chance can explain that (p = 0.063); it costs {cost}."


def test_what_is_more_than_chance_and_costs_more() -> None:
    said = verdict(compare([run("blend", 25, calls=7), run("cot", 5)]))
    why = "chance does not explain that (p <0.001)"
    assert said == f"blend answered 20 more of 30 exactly; {why}; it costs 7 times the LM calls."


def test_equal_runs_and_another_metric() -> None:
    said = verdict(compare([run("a", 9, calls=2), run("b", 9)]))
    assert said == "a and b are equal by EM; b costs half of the LM calls."
    assert verdict(compare([run("a", 9), run("b", 9)])).endswith("; each costs as many LM calls.")
    said = verdict(compare([run("a", 9, metric="f1"), run("b", 0, metric="f1")]))
    assert said.startswith("a is ahead of b by 30.0 points of F1; chance does not explain that (p = 0.00")


def test_the_best_of_many_says_over_which_its_lead_may_be_chance() -> None:
    said = verdict(compare([run("a", 15, calls=2), run("b", 16, calls=4), run("c", 2, calls=8)]))
    assert said == (
        "b is best: it answered 16 of 30 exactly; chance does not explain its lead over c; chance can explain its lead "
        "over a; beside a, the cheapest other, it costs 2 times the LM calls."
    )


def test_one_run() -> None:
    cot = run("cot", 15)
    said = of_one("cot", summarise(cot.rows, 30, cot.manifest).total, "em")
    assert said == "cot answered 15 of 30 exactly, with 1 LM call per question."
