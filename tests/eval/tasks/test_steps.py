"""The steps that lead to an answer, from the forms in which data sets have them; and what is right by them."""

from typing import Any

import dspy
import pytest

from eval.metrics import load
from eval.metrics.knowledge import knowledge_accuracy, sub_answers
from eval.tasks.steps import Step, decomposition_of, steps_of
from retrieval import Passage


def example(**fields: object) -> dspy.Example:
    return dspy.Example(question="q?", answers=["Lund"], **fields)


def test_references_are_replaced_by_the_answers_of_earlier_steps() -> None:
    steps: list[dict[str, Any]] = [
        {"question": "Zorx >> finder", "answer": "Ada Quill"},
        {"question": "Where was #1 born?", "answer": "Lund"},
        {"question": "Is #2 older than #1, #10 or #0?", "answer": ["600", "six hundred"]},
    ]
    assert steps_of(example(decomposition=steps)) == [
        Step("Zorx >> finder", "Ada Quill"),
        Step("Where was Ada Quill born?", "Lund"),
        Step("Is Lund older than Ada Quill, #10 or #0?", "600"),
    ]
    assert [step.question for step in decomposition_of(example(decomposition=steps))] == [s["question"] for s in steps]


def test_steps_without_an_answer_are_left_out() -> None:
    mixed = ["Who found Zorx?", {"question": "Where?", "answer": "Lund"}, {"question": "When?", "answer": []}]
    assert steps_of(example(decomposition=mixed)) == [Step("Where?", "Lund")]


def test_a_triple_asks_for_its_object() -> None:
    triples = [["Zorx", "finder", "Ada Quill"], ["Ada Quill", "place of birth", "Lund"], ["odd", "one"]]
    assert steps_of(example(evidences=triples)) == [
        Step("What is the finder of Zorx?", "Ada Quill"),
        Step("What is the place of birth of Ada Quill?", "Lund"),
    ]


@pytest.mark.parametrize("fields", [{}, {"decomposition": None, "evidences": []}])
def test_others_have_none(fields: dict[str, object]) -> None:
    assert steps_of(example(**fields)) == []


def test_answers_are_those_of_the_steps_and_of_the_question_without_yes_and_no() -> None:
    steps = [{"question": "a?", "answer": "Ada Quill"}, {"question": "b?", "answer": "Yes"}]
    known = dspy.Example(question="q?", answers=["no", "Lund", "Ada Quill"], decomposition=steps)
    assert sub_answers(known) == ["Ada Quill", "Lund"]


def test_the_share_of_the_passages_from_memory_that_have_an_answer() -> None:
    wrote = dspy.Prediction(knowledge=[Passage("lm:1", "Born in Lund."), Passage("lm:2", "Lundy is an island.")])
    assert knowledge_accuracy(example(), wrote) == 0.5
    assert load("knowledge_accuracy") is knowledge_accuracy


@pytest.mark.parametrize("fields", [{}, {"knowledge": []}, {"knowledge": "Lund"}])
def test_it_is_undefined_where_the_lm_wrote_none(fields: dict[str, object]) -> None:
    assert knowledge_accuracy(example(), dspy.Prediction(**fields)) is None


def test_and_where_only_yes_or_no_is_right() -> None:
    wrote = dspy.Prediction(knowledge=[Passage("lm:1", "Yes.")])
    assert knowledge_accuracy(dspy.Example(question="q?", answers=["yes"]), wrote) is None
