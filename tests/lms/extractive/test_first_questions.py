"""Easy questions that the packaged corpus answers, and questions that it does not: benchmarks/extractive_reader.py."""

import json
from pathlib import Path

import dspy
import pytest

import lms
import retrieval
from eval.metrics import em
from programs.blendfilter import BlendFilter
from programs.cot import CoT
from programs.direct import Direct

QUESTIONS = Path(__file__).parents[2] / "data" / "first_questions.jsonl"
ROWS = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("split", ["development", "held-out", "plain"])
def test_what_it_answers_is_right_and_what_it_cannot_know_it_declines(split: str) -> None:
    rows = [row for row in ROWS if row["split"] == split]
    program = Direct(retrieval.load("sample"))
    with dspy.context(lm=lms.load("extractive")):
        answers = [program(question=row["question"]).answer for row in rows]
    inside = [(answer, row["answers"]) for answer, row in zip(answers, rows, strict=True) if row["answers"]]
    answered = [(answer, golds) for answer, golds in inside if answer]
    right = sum(em(dspy.Example(answers=golds), dspy.Prediction(answer=answer)) == 1 for answer, golds in answered)
    assert len(answered) >= 0.7 * len(inside)
    assert right >= 0.8 * len(answered)
    assert not any(answer for answer, row in zip(answers, rows, strict=True) if not row["answers"])


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who designed the Gateway Arch?", "Eero Saarinen"),
        ("chief town of Hiiumaa", "Kärdla"),
        ("Where was the director of Fitzcarraldo born?", "Munich"),
        ("Which club did Celtic beat in Lisbon in 1967?", "Inter Milan"),
        ("Which club did Celtic beat in the 1967 European Cup final?", "Inter Milan"),
        ("How old was Giles Gilbert Scott when his design for Liverpool Cathedral was chosen?", "22 years old"),
    ],
)
def test_questions_of_a_first_hour(question: str, expected: str) -> None:
    for program in (Direct, CoT, BlendFilter):
        with dspy.context(lm=lms.load("extractive")):
            assert program(retrieval.load("sample"), k=3)(question=question).answer == expected
