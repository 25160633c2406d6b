import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics import (
    STANDARD,
    load,
    recall_evidence,
    recall_evidence_by_id,
    recall_passages,
    recall_passages_by_id,
)
from eval.metrics.passages import knowledge_accuracy, sub_answers
from retrieval import Passage

FOUND = [Passage("1", "in Rome", "A"), Passage("2", "t", "A"), Passage("3", "t", "B")]
IDS = st.lists(st.sampled_from("abcdef"), max_size=6)


def example(**fields: object) -> dspy.Example:
    return dspy.Example(question="q", **fields).with_inputs("question")


def test_recall_by_title_and_by_id() -> None:
    gold = example(gold_titles=["A", "C"], gold_passages=["2", "3", "9"])
    prediction = dspy.Prediction(answer="", passages=FOUND, evidence=FOUND[:1])
    assert recall_passages(gold, prediction) == 1 / 2
    assert recall_evidence(gold, prediction) == 1 / 2
    assert recall_passages_by_id(gold, prediction) == 2 / 3
    assert recall_evidence_by_id(gold, prediction) == 0.0


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


def test_what_an_lm_wrote_is_no_passage() -> None:
    prediction = dspy.Prediction(answer="", evidence=[FOUND[0], Passage("lm:passage", "A", "")])
    assert load("precision_evidence")(example(gold_titles=["A"]), prediction) == 1


def test_statements_stand_for_the_passages_that_they_are_from() -> None:
    gold = dspy.Example(question="?", gold_titles=[FOUND[0].title], gold_passages=[FOUND[0].id])
    facts = [{"fact": "A", "passages": [FOUND[0].id]}, {"fact": "B", "passages": [FOUND[1].id]}, "odd", {"fact": 1}]
    prediction = dspy.Prediction(
        answer="", passages=FOUND, evidence=[Passage("lm:fact-1", "A", FOUND[1].title)], known_facts=facts
    )
    assert recall_evidence(gold, prediction) == recall_evidence_by_id(gold, prediction) == 1.0
    assert load("precision_evidence")(gold, prediction) == 1.0
    notes = dspy.Prediction(answer="", passages=FOUND, evidence=[Passage("lm:note-1", "A")], notes=facts)
    assert (recall_evidence(gold, notes), load("precision_evidence")(gold, notes)) == (1.0, 1.0)
    assert recall_evidence(gold, dspy.Prediction(answer="", passages=FOUND, evidence=[], known_facts="none")) == 0.0


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


def test_every_passage_has_a_no() -> None:
    prediction = dspy.Prediction(answer="", passages=[Passage("1", "yes and no")])
    assert load("answer_recall@1")(example(answers=["no"]), prediction) is None


def test_answers_are_those_of_the_steps_and_of_the_question_without_yes_and_no() -> None:
    steps = [{"question": "a?", "answer": "Ada Quill"}, {"question": "b?", "answer": "Yes"}]
    known = dspy.Example(question="q?", answers=["no", "Lund", "Ada Quill"], decomposition=steps)
    assert sub_answers(known) == ["Ada Quill", "Lund"]


def test_the_share_of_the_passages_from_memory_that_have_an_answer() -> None:
    wrote = dspy.Prediction(knowledge=[Passage("lm:1", "Born in Lund."), Passage("lm:2", "Lundy is an island.")])
    assert knowledge_accuracy(example(answers=["Lund"]), wrote) == 0.5
    assert load("knowledge_accuracy") is knowledge_accuracy


@pytest.mark.parametrize("fields", [{}, {"knowledge": []}, {"knowledge": "Lund"}])
def test_it_is_undefined_where_the_lm_wrote_none(fields: dict[str, object]) -> None:
    assert knowledge_accuracy(example(answers=["Lund"]), dspy.Prediction(**fields)) is None


def test_and_where_only_yes_or_no_is_right() -> None:
    wrote = dspy.Prediction(knowledge=[Passage("lm:1", "Yes.")])
    assert knowledge_accuracy(example(answers=["yes"]), wrote) is None
