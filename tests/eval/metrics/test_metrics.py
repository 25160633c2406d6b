"""Metrics: em and f1 worked out by hand from SQuAD's evaluate-v1.1.py, properties, and what DSPy does with them.

The values of the scripts that the metrics reproduce are in tests/parity.
"""

import inspect
import string
from collections import Counter

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
    precision_evidence,
    recall_evidence,
    recall_evidence_by_id,
    recall_passages,
    recall_passages_by_id,
    rouge_l,
    standard,
)
from eval.metrics.squad import normalise
from retrieval import Passage, UsageError

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


@given(words=st.lists(st.sampled_from("bcd"), max_size=6), others=st.lists(st.sampled_from("bcd"), max_size=6))
def test_rouge_l_is_symmetric_and_depends_on_the_order(words: list[str], others: list[str]) -> None:
    forth, back = score(rouge_l, " ".join(words), " ".join(others)), score(rouge_l, " ".join(others), " ".join(words))
    assert forth == back
    assert (forth == 1) is (words == others != [])


@given(answer=st.text(), gold=st.text())
def test_no_text_breaks_a_metric(answer: str, gold: str) -> None:
    passages = [Passage("1", answer, gold)]
    prediction = dspy.Prediction(answer=answer, passages=passages, evidence=passages)
    question = example(answers=[gold], gold_titles=[gold], gold_passages=["1"])
    for metric in (*METRICS, accuracy):
        value = metric(question, prediction)
        assert value is None or 0 <= value <= 1


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
    assert score(accuracy, answer, gold) == expected


FOUND = [Passage("1", "in Rome", "A"), Passage("2", "t", "A"), Passage("3", "t", "B")]


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


def test_the_first_k_and_the_rest() -> None:
    gold = example(answers=["Rome"], gold_titles=["B"], gold_passages=["1"])
    prediction = dspy.Prediction(answer="", passages=FOUND[::-1], evidence=FOUND)
    assert [load(f"recall@{k}")(gold, prediction) for k in (1, 2)] == [1, 1]
    assert [load(f"recall_by_id@{k}")(gold, prediction) for k in (2, 3, 99)] == [0, 1, 1]
    assert [load(f"precision@{k}")(gold, prediction) for k in (1, 2)] == [1, 1 / 2]
    assert [load(f"s_precision@{k}")(gold, prediction) for k in (1, 2)] == [1, 0]
    for name in "answer_recall", "top_k_accuracy":
        assert [load(f"{name}@{k}")(gold, prediction) for k in (2, 3)] == [0, 1]


def test_a_ranking_that_is_reported_comes_before_the_order_of_retrieval() -> None:
    gold = example(answers=["Rome"], gold_titles=["B"])

    def scores(**rankings: object) -> list[float | None]:
        prediction = dspy.Prediction(answer="", passages=FOUND, **rankings)
        return [load(f"{name}@1")(gold, prediction) for name in ("recall", "answer_recall", "top_k_accuracy")]

    assert scores() == [0, 1, 1]
    assert scores(retrieved=["3", "1"]) == [1, 0, 0]
    assert scores(ranked=["2"]) == [0, 1, 0]
    assert scores(retrieved=["3"], ranked=["1"]) == [1, 0, 1]
    assert scores(retrieved=FOUND[::-1]) == [1, 0, 0]
    assert scores(retrieved=["4"], ranked=[["3"]]) == [None, None, None]  # no ids of passages


def test_what_an_lm_wrote_is_no_passage() -> None:
    prediction = dspy.Prediction(answer="", evidence=[FOUND[0], Passage("lm:passage", "A", "")])
    assert precision_evidence(example(gold_titles=["A"]), prediction) == 1


def test_statements_stand_for_the_passages_that_they_are_from() -> None:
    gold = dspy.Example(question="?", gold_titles=[FOUND[0].title], gold_passages=[FOUND[0].id])
    facts = [{"fact": "A", "passages": [FOUND[0].id]}, {"fact": "B", "passages": [FOUND[1].id]}, "odd", {"fact": 1}]
    prediction = dspy.Prediction(
        answer="", passages=FOUND, evidence=[Passage("lm:fact-1", "A", FOUND[1].title)], known_facts=facts
    )
    assert recall_evidence(gold, prediction) == recall_evidence_by_id(gold, prediction) == 1.0
    assert precision_evidence(gold, prediction) == 1.0
    assert recall_evidence(gold, dspy.Prediction(answer="", passages=FOUND, evidence=[], known_facts="none")) == 0.0


def test_every_passage_has_a_no() -> None:
    prediction = dspy.Prediction(answer="", passages=[Passage("1", "yes and no")])
    assert load("answer_recall@1")(example(answers=["no"]), prediction) is None


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
