"""em and f1 are those of SQuAD's evaluate-v1.1.py: expected values worked out from its definition by hand."""

import inspect
import string
from collections import Counter

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import Function, engine_lm, render

from eval.metrics import (
    STANDARD,
    Metric,
    em,
    f1,
    recall_evidence,
    recall_evidence_by_id,
    recall_passages,
    recall_passages_by_id,
)
from eval.metrics.squad import normalise
from retrieval import Passage

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


FOUND = [Passage("1", "t", "A"), Passage("2", "t", "A"), Passage("3", "t", "B")]


def test_recall_by_title_and_by_id() -> None:
    gold = example(gold_titles=["A", "C"], gold_passages=["2", "3", "9"])
    prediction = dspy.Prediction(answer="", passages=FOUND, evidence=FOUND[:1])
    assert recall_passages(gold, prediction) == 1 / 2
    assert recall_evidence(gold, prediction) == 1 / 2
    assert recall_passages_by_id(gold, prediction) == 2 / 3
    assert recall_evidence_by_id(gold, prediction) == 0.0


IDS = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(gold=IDS.filter(bool), found=IDS, more=IDS)
def test_properties_of_recall(gold: list[str], found: list[str], more: list[str]) -> None:
    def recall(gold: list[str], found: list[str]) -> float:
        passages = [Passage(id_, "", id_.upper()) for id_ in found]
        prediction = dspy.Prediction(answer="", passages=passages, evidence=passages)
        question = example(gold_passages=gold, gold_titles=[id_.upper() for id_ in gold])
        (score,) = {metric(question, prediction) for metric in STANDARD[2:]}  # they agree where titles do not repeat
        assert score is not None
        return score

    assert 0.0 <= recall(gold, found) <= recall(gold, found + more) <= 1.0
    assert recall(gold, gold) == 1.0
    assert recall(gold * 2, found[::-1] * 2) == recall(gold, found)


@pytest.mark.parametrize("metric", STANDARD)
def test_without_gold_a_metric_is_undefined_and_not_0(metric: Metric) -> None:
    prediction = dspy.Prediction(answer="a", passages=FOUND, evidence=FOUND)
    assert metric(example(), prediction) is None
    assert metric(example(answers=[], gold_titles=[], gold_passages=[]), prediction) is None


@pytest.mark.parametrize("metric", STANDARD[2:])
def test_recall_of_a_program_that_reports_no_passages_is_undefined_and_not_0(metric: Metric) -> None:
    gold = example(gold_titles=["A"], gold_passages=["1"])
    assert metric(gold, dspy.Prediction(answer="a")) is None
    assert metric(gold, dspy.Prediction(answer="a", passages=["A | text"], evidence=["A | text"])) is None
    assert metric(gold, dspy.Prediction(answer="a", passages=[], evidence=[])) == 0.0


class Reader(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.read = dspy.Predict("question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        return dspy.Prediction(answer=self.read(question=question).answer, passages=FOUND, evidence=FOUND[2:])


GOLD = {"gold_titles": ["A", "B"], "gold_passages": ["1", "3"]}
QUESTIONS = [
    dspy.Example(question="capital of Italy?", answers=["Rome"], answer="Rome", **GOLD).with_inputs("question"),
    dspy.Example(question="capital of France?", answers=["Paris"], answer="Paris", **GOLD).with_inputs("question"),
]
# All answers are Rome; all gold titles and passages are found, half of them kept.
EXPECTED = {
    em: 50,
    f1: 50,
    recall_passages: 100,
    recall_evidence: 50,
    recall_passages_by_id: 100,
    recall_evidence_by_id: 50,
}


@pytest.fixture
def always_rome() -> dspy.LM:
    return engine_lm(Function(lambda system, user: render({"answer": "Rome"})))


@pytest.mark.parametrize("metric", STANDARD)
def test_every_metric_works_in_evaluate(metric: Metric, always_rome: dspy.LM) -> None:
    with dspy.context(lm=always_rome):
        result = dspy.Evaluate(devset=QUESTIONS, metric=metric, num_threads=2)(Reader())
    assert result.score == EXPECTED[metric]


@pytest.mark.parametrize("threads", [1, 2])
def test_evaluate_refuses_an_undefined_score(threads: int, always_rome: dspy.LM) -> None:
    without_gold = dspy.Example(question="q", answers=["Rome"]).with_inputs("question")
    with dspy.context(lm=always_rome), pytest.raises(TypeError):
        dspy.Evaluate(devset=[*QUESTIONS, without_gold], metric=recall_passages, num_threads=threads)(Reader())


@pytest.mark.parametrize("metric", STANDARD)
def test_every_metric_works_in_bootstrap_few_shot(metric: Metric, always_rome: dspy.LM) -> None:
    def demonstrated(threshold: float | None, *questions: dspy.Example) -> set[str]:
        optimizer = dspy.BootstrapFewShot(metric=metric, metric_threshold=threshold, max_labeled_demos=0)
        with dspy.context(lm=always_rome):
            return {demo.question for demo in optimizer.compile(Reader(), trainset=questions).read.demos}

    prediction = dspy.Prediction(answer="Rome", passages=FOUND, evidence=FOUND[2:])
    assert demonstrated(0.9, *QUESTIONS) == {q.question for q in QUESTIONS if metric(q, prediction) == 1}
    assert demonstrated(None, *QUESTIONS) == {q.question for q in QUESTIONS if metric(q, prediction)}
    assert demonstrated(None, dspy.Example(question="without gold").with_inputs("question")) == set()


@pytest.mark.parametrize("metric", STANDARD)
def test_every_metric_takes_the_arguments_of_gepa(metric: Metric) -> None:
    inspect.signature(metric).bind(None, None, None, None, None)
    prediction = dspy.Prediction(answer="Rome", passages=FOUND, evidence=FOUND)
    assert metric(QUESTIONS[0], prediction, [], "read", []) == 1.0


def test_metrics_have_names_of_their_own() -> None:
    assert len({metric.__name__ for metric in STANDARD}) == len(STANDARD)
