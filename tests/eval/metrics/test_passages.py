import dspy
from hypothesis import given
from hypothesis import strategies as st

from eval.metrics import (
    STANDARD,
    precision_evidence,
    recall_evidence,
    recall_evidence_by_id,
    recall_passages,
    recall_passages_by_id,
)
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
    assert precision_evidence(example(gold_titles=["A"]), prediction) == 1


def test_statements_stand_for_the_passages_that_they_are_from() -> None:
    gold = dspy.Example(question="?", gold_titles=[FOUND[0].title], gold_passages=[FOUND[0].id])
    facts = [{"fact": "A", "passages": [FOUND[0].id]}, {"fact": "B", "passages": [FOUND[1].id]}, "odd", {"fact": 1}]
    prediction = dspy.Prediction(
        answer="", passages=FOUND, evidence=[Passage("lm:fact-1", "A", FOUND[1].title)], known_facts=facts
    )
    assert recall_evidence(gold, prediction) == recall_evidence_by_id(gold, prediction) == 1.0
    assert precision_evidence(gold, prediction) == 1.0
    notes = dspy.Prediction(answer="", passages=FOUND, evidence=[Passage("lm:note-1", "A")], notes=facts)
    assert (recall_evidence(gold, notes), precision_evidence(gold, notes)) == (1.0, 1.0)
    assert recall_evidence(gold, dspy.Prediction(answer="", passages=FOUND, evidence=[], known_facts="none")) == 0.0
