from dataclasses import asdict
from typing import Any

from eval.figures.summary import Row, summarise
from eval.reports.text import table
from programs.instruments.cost import Cost


def row(scores: dict[str, float | None], error: str | None = None, **fields: Any) -> Row:
    cost = {**asdict(Cost()), **fields.get("cost", {})}
    return {"scores": scores, "error": error, "type": None, **fields, "cost": cost}


ROWS = [
    row({"em": 1.0, "f1": 1.0, "recall_passages": 0.5}, type="bridge", cost={"lm_calls": 7, "seconds": 1.5}),
    row({"em": 0.0, "f1": 0.25, "recall_passages": 1.0}, type="bridge", cost={"unparsable": 2}),
    row({"em": None, "f1": None}, "LMTimeoutError: too late", type="comparison"),
    row({"em": 1.0, "f1": 1.0, "own": 0.5}),
]


def test_the_table() -> None:
    manifest = {"program": "blendfilter", "task": "sample", "lm": "extractive", "k": 5}
    run, empty, *lines = table(summarise(ROWS, 4, manifest)).split("\n")
    assert (run, empty) == ("task sample, program blendfilter, lm extractive", "")
    assert lines[: lines.index("")] == [
        "            n  failed  unparsable    EM    F1  titles found       own  LM calls  searches  seconds",
        "all         4       1           1  50.0  56.2      75.0 (2)  50.0 (1)      1.75      0.00     0.38",
        "bridge      2       0           1  50.0  62.5          75.0         -      3.50      0.00     0.75",
        "comparison  1       1           0   0.0   0.0             -         -      0.00      0.00     0.00",
    ]
    # Wilson's intervals: 2 of 4 right, 1 of 2, 0 of 1.
    em = [line[:24] for line in lines if "[" in line and line[0] in "abc"]
    assert em == ["all         [15.0, 85.0]", "bridge       [9.5, 90.5]", "comparison   [0.0, 79.3]"]


def test_what_went_wrong_is_said() -> None:
    text = table(summarise(ROWS, 6, {}))
    assert "INCOMPLETE: 4 of 6 questions" in text
    assert text.endswith("1 failed, the first with LMTimeoutError: too late")


def test_an_undisturbed_run_has_nothing_to_add() -> None:
    text = table(summarise(ROWS[:2], 2, {}))
    assert "INCOMPLETE" not in text
    assert "failed, the first" not in text


def test_a_run_interrupted_at_once_has_a_table() -> None:
    assert "INCOMPLETE: 0 of 6 questions" in table(summarise([], 6, {}))
