"""em and f1 worked out by hand from SQuAD's evaluate-v1.1.py, and their properties."""

import string
from collections import Counter

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics import accuracy, em, f1, rouge_l
from eval.metrics.gold import normalise

TEXT = st.text(alphabet="ab thenA .-é", max_size=20)


def example(**fields: object) -> dspy.Example:
    return dspy.Example(question="q", **fields).with_inputs("question")


@pytest.mark.parametrize(
    ("answer", "golds", "expected_em", "expected_f1"),
    [
        ("Denver Broncos", ["Denver Broncos"], 1, 1),
        ("the  Denver\tbroncos.", ["Denver Broncos"], 1, 1),
        ("Broncos", ["Denver Broncos"], 0, 2 / 3),
        ("Denver Denver Broncos", ["Denver Broncos"], 0, 4 / 5),  # multisets: one Denver in common
        ("Carolina Panthers", ["Denver Broncos"], 0, 0),
        ("Carolina", ["Denver Broncos", "Carolina Panthers", "Carolina"], 1, 1),  # the best gold answer
        ("Santa Clara, California", ["Levi's Stadium", "Santa Clara"], 0, 4 / 5),
        ("U.S.", ["US"], 1, 1),  # punctuation goes without leaving a space
        ("twenty-one", ["twenty one"], 0, 0),
        ("an analysis of a theory", ["analysis of theory"], 1, 1),  # articles go as words only
        ("1,000", ["1000"], 1, 1),
        ("", ["Denver"], 0, 0),
        ("The", ["a"], 1, 0),  # both empty: equal, and no word in common
        ("Café", ["Cafe"], 0, 0),  # accents count, unlike in DSPy's own metric
        ("Zürich–Basel", ["Zürich Basel"], 0, 0),  # only ASCII punctuation goes
    ],
)
def test_em_and_f1_are_the_scripts(answer: str, golds: list[str], expected_em: float, expected_f1: float) -> None:
    assert em(example(answers=golds), dspy.Prediction(answer=answer)) == expected_em
    assert f1(example(answers=golds), dspy.Prediction(answer=answer)) == pytest.approx(expected_f1)


@given(answer=TEXT, golds=st.lists(TEXT, min_size=1, max_size=3))
def test_f1_is_the_harmonic_mean_of_precision_and_recall(answer: str, golds: list[str]) -> None:
    def score(gold: str) -> float:
        words, gold_words = normalise(answer).split(), normalise(gold).split()
        same = sum((Counter(words) & Counter(gold_words)).values())
        if same == 0:
            return 0.0
        precision, recall = same / len(words), same / len(gold_words)
        return 2 * precision * recall / (precision + recall)

    assert f1(example(answers=golds), dspy.Prediction(answer=answer)) == pytest.approx(max(map(score, golds)))


@given(answer=TEXT, golds=st.lists(TEXT, min_size=1, max_size=3), more=TEXT)
def test_properties_of_em_and_f1(answer: str, golds: list[str], more: str) -> None:
    prediction = dspy.Prediction(answer=answer)
    exact, overlap = em(example(answers=golds), prediction), f1(example(answers=golds), prediction)
    assert exact in (0.0, 1.0)
    assert 0.0 <= overlap <= 1.0
    if normalise(answer):
        assert overlap >= exact
    for metric in em, f1:  # one gold answer more never hurts, order does not matter, nor does anything normalised away
        assert metric(example(answers=[*golds, more]), prediction) >= metric(example(answers=golds), prediction)
        assert metric(example(answers=golds[::-1]), prediction) == metric(example(answers=golds), prediction)
        shouted = dspy.Prediction(answer=f" the {answer.upper()} !")
        assert metric(example(answers=golds), shouted) == metric(example(answers=golds), prediction)


@given(text=st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise(text)
    assert not set(once) & set(string.punctuation)
    assert normalise(once) == once


def test_answers_of_any_type_are_compared_as_text() -> None:
    assert em(example(answers=["yes"]), dspy.Prediction(answer=True)) == 1
    assert em(example(answers=["no"]), dspy.Prediction(answer=False)) == 1
    assert em(example(answers=["1984"]), dspy.Prediction(answer=1984)) == 1
    assert em(example(answers=["None"]), dspy.Prediction(answer=None)) == 0
    assert em(example(answer="Rome"), dspy.Prediction(answer="Rome")) == 1  # an example of DSPy's own data sets


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


@given(words=st.lists(st.sampled_from("bcd"), max_size=6), others=st.lists(st.sampled_from("bcd"), max_size=6))
def test_rouge_l_is_symmetric_and_depends_on_the_order(words: list[str], others: list[str]) -> None:
    def score(answer: list[str], gold: list[str]) -> float | None:
        return rouge_l(dspy.Example(answers=[" ".join(gold)]), dspy.Prediction(answer=" ".join(answer)))

    forth, back = score(words, others), score(others, words)
    assert forth == back
    assert (forth == 1) is (words == others != [])
