from typing import Any

import dspy
import pytest

from eval.metrics.gold import Step, decomposition_of, statable, states, steps_of


@pytest.mark.parametrize(
    ("text", "stated"), [("The Lund.", True), ("born in Lund", True), ("Lundy", False), ("", False)]
)
def test_a_text_states_an_answer_whose_words_it_has(text: str, stated: bool) -> None:
    assert states(text, ["Lund"]) is stated


def test_no_text_states_an_answer_of_which_nothing_is_left() -> None:
    assert not states("The end", ["The"])


def test_yes_and_no_cannot_be_stated() -> None:
    assert statable(dspy.Example(answers=["yes"])) == []
    assert statable(dspy.Example(answers=["Lund", "Lund, Sweden"])) == ["Lund", "Lund, Sweden"]


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
