"""Easy questions that the packaged corpus answers, and questions that it does not: benchmarks/extractive_reader.py."""

import json
from pathlib import Path

import dspy
import pytest

import lms
import retrieval
from eval.metrics import em
from programs.direct import Direct

QUESTIONS = Path(__file__).parents[2] / "data" / "first_questions.jsonl"
ROWS = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("split", ["development", "held-out"])
def test_what_it_answers_is_right_and_what_it_cannot_know_it_declines(split: str) -> None:
    rows = [row for row in ROWS if row["split"] == split]
    program = Direct(retrieval.load("sample"))
    with dspy.context(lm=lms.load("extractive")):
        answers = [program(question=row["question"]).answer for row in rows]
    inside = [(answer, row["answers"]) for answer, row in zip(answers, rows, strict=True) if row["answers"]]
    outside = [answer for answer, row in zip(answers, rows, strict=True) if not row["answers"]]
    answered = [(answer, golds) for answer, golds in inside if answer]
    right = sum(em(dspy.Example(answers=golds), dspy.Prediction(answer=answer)) == 1 for answer, golds in answered)
    assert len(answered) >= 0.7 * len(inside)
    assert right >= 0.8 * len(answered)
    assert sum(map(bool, outside)) <= 0.1 * len(outside)
