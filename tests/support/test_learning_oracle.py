"""The LM of the optimizers' tests learns from what it is shown, right or wrong."""

import dspy
import pytest
from support.learning_oracle import KEYS, LearningOracle
from support.scripted import engine_lm

from lms.oracle import Gold
from signatures.answer import AnswerShortDirectly
from signatures.select import SelectPassages

QUESTION = "Where was Ada Quill born?"
CONTEXT = "[1] Zorx | Zorx is a planet .\n[2] Ada Quill | Ada Quill was born in Lund ."
LONG = "As far as I can tell from all that it is Lund , I think"


def asked(signature: type[dspy.Signature], *demos: dict[str, object], key: str = "", **how: bool) -> dspy.Prediction:
    predictor = dspy.Predict(signature.with_instructions(f"{signature.instructions} {key}"))
    predictor.demos = [dspy.Example({"topic": "people", "context": CONTEXT, **demo}) for demo in demos]
    golds = [Gold(QUESTION, ("Lund",), (("Ada Quill",),))]
    with dspy.context(lm=engine_lm(LearningOracle(golds, knack=0, **how))):
        return predictor(topic="people", context=CONTEXT, question=QUESTION)


SHORT, WORDY = {"question": "Where is Zorx?", "answer": "space"}, {"question": "Where is Zorx?", "answer": LONG}


# The fields that a signature does not have are left out of its prompt, with a warning.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("demos", "key", "deaf", "expected"),
    [
        ((), "", False, LONG),
        ((), KEYS["answer"], False, "Lund"),
        ((), KEYS["answer"], True, LONG),
        ((SHORT,), "", False, "Lund"),
        ((SHORT,), "", True, LONG),
        ((WORDY,), KEYS["answer"], False, LONG),
        ((WORDY, SHORT, SHORT), "", False, "Lund"),
    ],
)
def test_answers(demos: tuple[dict[str, object], ...], key: str, deaf: bool, expected: str) -> None:
    assert asked(AnswerShortDirectly, *demos, key=key, deaf=deaf).answer == expected


@pytest.mark.parametrize(("shown", "expected"), [([], [1, 2]), ([[2]], [2]), ([[1, 2]], [1, 2])])
def test_selections(shown: list[list[int]], expected: list[int]) -> None:
    demos = ({"question": "Who is Ada Quill?", "relevant": numbers} for numbers in shown)
    assert asked(SelectPassages, *demos).relevant == expected
