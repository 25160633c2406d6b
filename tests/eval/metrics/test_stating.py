import dspy
import pytest

from eval.metrics.stating import statable, states


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
