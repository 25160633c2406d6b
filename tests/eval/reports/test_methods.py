from typing import Any

from eval.records.lines import Line
from eval.reports.methods import page


def line(program: str, score: float, task: str = "nq", lm: str = "some/model", **fields: Any) -> Line:
    usual = {"retriever": "bm25:x", "asked": 50, "n": 50, "metric": "em", "lm_calls": 1.0, "searches": 1.0}
    return Line(task=task, program=program, lm=lm, score=score, **{**usual, **fields})


def test_the_best_program_is_said_and_stands_first_and_figures_are_folded() -> None:
    gain = {"to_direct": 0.1, "to_direct_p": 0.3, "lm_calls": 7.0}
    made = page([line("direct", 0.2), line("blendfilter", 0.3, **gain), line("cot", 0.25)], [], [])
    chance = "chance can explain that (p 0.30)"
    assert f"blendfilter is best, with 30 % on nq, and direct 20 %; {chance}; it costs 7 times the LM calls.\n" in made
    glance, figures = made.split("## What is missing")
    assert [row.split(" | ")[0] for row in glance.splitlines()[-4:-1]] == ["| blendfilter", "| cot", "| direct"]
    folded = figures[figures.index('<details markdown="1">') : figures.index("</details>")]
    assert "<summary>All figures. Best: blendfilter 30 (some/model)</summary>\n\n" in folded
    assert folded.count("| some/model |") == 3


def test_who_lacks_a_data_set_is_not_the_best_on_average_and_neither_is_who_was_told() -> None:
    ceiling: dict[str, Any] = {"lm": "ceiling"}
    both = [line("direct", 0.2, task, **ceiling) for task in ("nq", "popqa")]
    both += [line("ircot", 0.4, task, **ceiling, lm_calls=2.0) for task in ("nq", "popqa")]
    told = [line("genread", 1.0, task, **ceiling, searches=0.0) for task in ("nq", "popqa")]
    made = page([*both, *told, line("sure", 0.9, **ceiling)], [], [])
    assert (
        "ircot is best, with 40 % on average over 2 data sets, and direct 20 %; it costs 2 times the LM calls." in made
    )


def test_where_direct_is_best_or_missing_there_is_no_sentence() -> None:
    assert " is best" not in page([line("direct", 0.5), line("cot", 0.2)], [], [])
    assert " is best" not in page([line("cot", 0.2)], [], [])
