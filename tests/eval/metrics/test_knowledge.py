import dspy
import pytest

from eval.metrics import load
from eval.metrics.knowledge import knowledge_accuracy, sub_answers
from retrieval import Passage


def example(**fields: object) -> dspy.Example:
    return dspy.Example(question="q?", answers=["Lund"], **fields)


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
