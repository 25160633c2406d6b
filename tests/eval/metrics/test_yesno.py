import dspy
import pytest

from eval.metrics import accuracy


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("Yes", "yes", 1),
        (True, "yes", 1),
        (" true.", "yes", 1),
        ("False", "No", 1),
        ("no", "yes", 0),
        ("", "no", 0),
        ("not sure", "no", 0),
        ("No one did.", "no", 0),
        ("yes, and no", "yes", 0),  # nothing but the word itself is taken for the word
        ("yes", "Yes, Giorgio", None),
        ("yes", "Rome", None),
    ],
)
def test_accuracy(answer: object, gold: str, expected: float | None) -> None:
    assert accuracy(dspy.Example(answers=[gold]), dspy.Prediction(answer=answer)) == expected
