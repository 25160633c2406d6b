"""Programs find, rank and keep the same passages whether they are asked for an answer or not."""

import dspy
import pytest

import programs
from eval.papers.running import ANSWER_LAST, NoAnswer
from lms.extractive import extractive_lm
from programs.instruments.cost import measured
from retrieval import load as load_retriever


@pytest.mark.parametrize("name", sorted(ANSWER_LAST))
def test_without_the_answer_the_searches_are_the_same_and_cost_less(name: str) -> None:
    seen, calls = [], []
    for answers in (True, False):
        program = programs.load(name)(load_retriever("sample"))
        if not answers:
            program.answer = NoAnswer(program.answer)
        with dspy.context(lm=extractive_lm()), measured() as cost:
            seen.append(program(question="Who founded IKEA?"))
        calls.append(cost.lm_calls)
    for field in ("queries", "passages", "evidence", "retrieved", "ranked"):
        assert seen[0].get(field) == seen[1].get(field), field
    assert seen[0].answer != ""
    assert seen[1].answer == ""
    assert calls[1] < calls[0]
    assert "answer" not in {predictor.partition(".")[0] for predictor in cost.predictors}
