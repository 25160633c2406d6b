from typing import Any

import pytest
from support.records import a_row

from eval.figures.outcomes import breakdown, outcome, reason
from retrieval import Passage

KNOWN = {id_: Passage(id_, text, title) for id_, title, text in (("1", "Rome", "It is old."), ("2", "Bonn", "A town."))}


def steps(*fates: tuple[str, str, str]) -> dict[str, Any]:
    """A search that found the passages 1 and 2, and what became of passages: kept or dropped, id, form."""
    made: list[dict[str, Any]] = [
        {"kind": "query", "number": 1, "text": "q"},
        {"kind": "found", "query": 1, "passages": ["1", "2"]},
    ]
    for kind, passage, form in fates:
        made.append({"kind": kind, "passage": passage, "why": "", **({"form": form} if kind == "kept" else {})})
    return {"steps": made}


KEPT, CITED, DROPPED = ("kept", "1", "whole"), ("kept", "1", "cited"), ("dropped", "1", "")
ROME = {"gold_titles": ["Rome"], "answers": ["Lima"], "prediction": {"answer": "Oslo"}}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({**ROME, "error": "LMError: late"}, "failed"),
        ({**ROME, "prediction": {"answer": " "}, "cost": {"unparsable": 1}}, "unparsable"),
        ({**ROME, "prediction": {"answer": None}}, "refused"),
        ({**ROME, "prediction": {"answer": "I cannot answer this question."}}, "refused"),
        ({**ROME, "prediction": {"answer": "It is not mentioned, but it is Oslo."}}, "no search"),
        ({**ROME, "cost": {"unparsable": 1}, "trace": steps(KEPT)}, "kept but misread"),  # it answers all the same
        (ROME, "no search"),
        ({**ROME, "gold_titles": ["Rome", "Oslo"], "trace": steps(KEPT)}, "gold not found"),
        ({**ROME, "trace": steps(DROPPED)}, "found but dropped"),
        ({**ROME, "gold_titles": ["Rome", "Bonn"], "trace": steps(KEPT)}, "found but dropped"),
        ({**ROME, "trace": steps(KEPT)}, "kept but misread"),
        ({**ROME, "trace": steps(CITED)}, "kept but misread"),
        ({**ROME, "trace": steps()}, "not known"),  # the program does not report its evidence
        ({**ROME, "gold_titles": None, "gold_passages": ["1"], "trace": steps(KEPT)}, "kept but misread"),
        ({**ROME, "gold_titles": None, "gold_passages": ["7"], "trace": steps(KEPT)}, "gold not found"),
        ({**ROME, "gold_titles": None, "trace": steps(KEPT)}, "gold not found"),  # no passage says Lima
        ({**ROME, "gold_titles": None, "answers": ["old"], "trace": steps(KEPT)}, "kept but misread"),
        ({**ROME, "gold_titles": None, "answers": ["yes"], "trace": steps(KEPT)}, "not known"),
        ({**ROME, "gold_titles": None, "answers": [], "trace": steps(KEPT)}, "not known"),
    ],
)
def test_why_a_question_is_wrong(fields: dict[str, Any], expected: str) -> None:
    assert reason(a_row(**fields), KNOWN) == expected


def test_a_passage_with_a_text_of_its_own_is_read_with_that() -> None:
    prediction = {"answer": "Oslo", "passages": [{"id": "1", "title": "Other", "text": "About Lima."}]}
    row = a_row(answers=["Lima"], prediction=prediction, trace=steps(KEPT))
    assert reason(row, KNOWN) == "kept but misread"


def test_the_best_of_several_answers_has_no_reason() -> None:
    assert reason(a_row().model_copy(update={"prediction": None}), KNOWN) == "not known"


def test_outcomes_are_by_metric() -> None:
    rows = [
        a_row("1", scores={"em": 1.0, "f1": 1.0}),
        a_row("2", scores={"em": 0.0, "f1": 0.5}),
        a_row("3", scores={"f1": 1.0}),
        a_row("4", scores={"em": None, "f1": None}, error="LMError: late"),
    ]
    assert [outcome(row, "em", "refused") for row in rows] == ["right", "refused", "not scored", "failed"]
    found = breakdown(rows, "f1", ["refused", "no search", "refused", "failed"])
    assert found == {"right": 2, "no search": 1, "failed": 1}
