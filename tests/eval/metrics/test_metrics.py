"""All metrics: how they are loaded, what they share, and what DSPy does with them."""

import inspect

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scripted import Function, engine_lm, render

from eval.metrics import (
    STANDARD,
    Metric,
    accuracy,
    cover_em,
    em,
    f1,
    hotpot_f1,
    load,
    migres_em,
    popqa_accuracy,
    recall_passages,
    rouge_l,
    standard,
)
from eval.metrics.gold import normalise
from retrieval import Passage, UsageError

TEXT = st.text(alphabet="ab thenA .-é", max_size=20)


def example(**fields: object) -> dspy.Example:
    return dspy.Example(question="q", **fields).with_inputs("question")


def score(metric: Metric, answer: object, *golds: str) -> float | None:
    return metric(example(answers=list(golds)), dspy.Prediction(answer=answer))


@given(answer=TEXT, gold=TEXT)
def test_how_the_metrics_of_answers_are_ordered(answer: str, gold: str) -> None:
    def of(metric: Metric) -> float:
        value = score(metric, answer, gold)
        assert value is not None
        return value

    assert of(hotpot_f1) <= of(f1)
    assert of(rouge_l) <= of(f1)  # words in order are fewer than words in common
    assert of(em) <= of(migres_em)
    assert of(em) <= of(cover_em)
    if normalise(gold):
        assert of(em) <= of(rouge_l)
    assert {of(em), of(migres_em), of(cover_em), of(popqa_accuracy)} <= {0.0, 1.0}


@given(answer=st.text(), gold=st.text())
def test_no_text_breaks_a_metric(answer: str, gold: str) -> None:
    passages = [Passage("1", answer, gold)]
    prediction = dspy.Prediction(answer=answer, passages=passages, evidence=passages)
    question = example(answers=[gold], gold_titles=[gold], gold_passages=["1"])
    for metric in (*METRICS, accuracy):
        value = metric(question, prediction)
        assert value is None or 0 <= value <= 1


FOUND = [Passage("1", "in Rome", "A"), Passage("2", "t", "A"), Passage("3", "t", "B")]


def test_yes_no_sets_get_accuracy_by_default() -> None:
    yes_no, other = example(answers=["yes"]), example(answers=["Rome"])
    assert standard([yes_no, yes_no])[0] is accuracy
    assert em not in standard([yes_no])
    assert standard([yes_no, other]) == STANDARD


@pytest.mark.parametrize(
    "name",
    ["em", "s_precision_evidence_by_id", "recall@5", "precision_by_id@10", "answer_recall@1", "top_k_accuracy@20"],
)
def test_a_metric_is_named_as_it_is_loaded(name: str) -> None:
    assert load(name).__name__ == name


@pytest.mark.parametrize(
    "name",
    ["", "EM", "em@5", "recall", "recall@0", "recall@", "recall@-1", "answer_recall", "acc_judge", "citation_recall:"],
)
def test_there_is_no_such_metric(name: str) -> None:
    with pytest.raises(UsageError, match=r"there is no metric .*; there are: em, f1, hotpot_f1, .*recall@K"):
        load(name)


def test_a_judge_that_is_none() -> None:
    with pytest.raises(UsageError, match="unknown entailment 'x'"):
        load("citation_recall:x")
    with pytest.raises(UsageError, match="there is no LM 'x'"):
        load("acc_judge:x")
    with pytest.raises(UsageError, match=r"extractive/reader is no judge of answers: of 8 known ones it gets \d wrong"):
        load("acc_judge:extractive")


NAMES = [
    *("em", "f1", "hotpot_f1", "rouge_l", "popqa_accuracy", "cover_em", "migres_em", "answer_recall@5"),
    *("recall_passages", "recall_evidence", "recall_passages_by_id", "recall_evidence_by_id", "recall@1"),
    *("precision_passages", "precision_evidence", "precision_passages_by_id", "precision_evidence_by_id"),
    *("s_precision_passages", "s_precision_evidence", "s_precision_passages_by_id", "s_precision_evidence_by_id"),
    *("citation_recall:lexical", "citation_precision:lexical"),
]
METRICS = [load(name) for name in NAMES]


@pytest.mark.parametrize("metric", METRICS, ids=NAMES)
def test_without_gold_a_metric_is_undefined_and_not_0(metric: Metric) -> None:
    prediction = dspy.Prediction(answer="a", passages=FOUND, evidence=FOUND)
    assert metric(example(), prediction) is None
    assert metric(example(answers=[], gold_titles=[], gold_passages=[]), prediction) is None


@pytest.mark.parametrize("metric", METRICS[7:21], ids=NAMES[7:21])
def test_recall_of_a_program_that_reports_no_passages_is_undefined_and_not_0(metric: Metric) -> None:
    gold = example(answers=["a"], gold_titles=["A"], gold_passages=["1"])
    assert metric(gold, dspy.Prediction(answer="a")) is None
    assert metric(gold, dspy.Prediction(answer="a", passages=["A | text"], evidence=["A | text"])) is None
    assert metric(gold, dspy.Prediction(answer="a", passages=[], evidence=[])) == 0.0


class Reader(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.read = dspy.Predict("question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        answer = self.read(question=question).answer
        facts = [{"fact": "in Rome", "passages": ["1"]}]
        return dspy.Prediction(answer=answer, passages=FOUND, evidence=FOUND[2:], known_facts=facts)


GOLD = {"gold_titles": ["A", "B"], "gold_passages": ["1", "3"]}
QUESTIONS = [
    dspy.Example(question="capital of Italy?", answers=["Rome"], answer="Rome", **GOLD).with_inputs("question"),
    dspy.Example(question="capital of France?", answers=["Paris"], answer="Paris", **GOLD).with_inputs("question"),
]
# All answers are Rome; passages 1 and 3 are gold, 3 is the evidence.
EXPECTED = dict.fromkeys(NAMES, 100.0) | {
    **dict.fromkeys(NAMES[:8], 50.0),
    **dict.fromkeys(["recall_evidence", "recall_evidence_by_id", "recall@1"], 50.0),
    "precision_passages_by_id": 66.67,
    **dict.fromkeys(["s_precision_evidence", "s_precision_passages_by_id", "s_precision_evidence_by_id"], 0.0),
}


@pytest.fixture
def always_rome() -> dspy.LM:
    return engine_lm(Function(lambda system, user: render({"answer": "Rome"})))


@pytest.mark.parametrize("metric", METRICS, ids=NAMES)
def test_every_metric_works_in_evaluate(metric: Metric, always_rome: dspy.LM) -> None:
    with dspy.context(lm=always_rome):
        result = dspy.Evaluate(devset=QUESTIONS, metric=metric, num_threads=2)(Reader())
    assert result.score == EXPECTED[metric.__name__]


@pytest.mark.parametrize("threads", [1, 2])
def test_evaluate_refuses_an_undefined_score(threads: int, always_rome: dspy.LM) -> None:
    without_gold = dspy.Example(question="q", answers=["Rome"]).with_inputs("question")
    with dspy.context(lm=always_rome), pytest.raises(TypeError):
        dspy.Evaluate(devset=[*QUESTIONS, without_gold], metric=recall_passages, num_threads=threads)(Reader())


@pytest.mark.parametrize("metric", METRICS, ids=NAMES)
def test_every_metric_works_in_bootstrap_few_shot(metric: Metric, always_rome: dspy.LM) -> None:
    def demonstrated(threshold: float | None, *questions: dspy.Example) -> set[str]:
        optimizer = dspy.BootstrapFewShot(metric=metric, metric_threshold=threshold, max_labeled_demos=0)
        with dspy.context(lm=always_rome):
            return {demo.question for demo in optimizer.compile(Reader(), trainset=questions).read.demos}

    with dspy.context(lm=always_rome):
        prediction = Reader()(question="capital of Italy?")
    assert demonstrated(0.9, *QUESTIONS) == {q.question for q in QUESTIONS if metric(q, prediction) == 1}
    assert demonstrated(None, *QUESTIONS) == {q.question for q in QUESTIONS if metric(q, prediction)}
    if "citation" not in metric.__name__:  # that needs no gold
        assert demonstrated(None, dspy.Example(question="without gold").with_inputs("question")) == set()


@pytest.mark.parametrize("metric", [*METRICS, accuracy], ids=[*NAMES, "accuracy"])
def test_every_metric_takes_the_arguments_of_gepa(metric: Metric) -> None:
    inspect.signature(metric).bind(None, None, None, None, None)
    prediction = dspy.Prediction(answer="Rome", passages=FOUND, evidence=FOUND)
    assert metric(QUESTIONS[0], prediction, [], "read", []) == metric(QUESTIONS[0], prediction)
