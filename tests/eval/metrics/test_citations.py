import dspy
import pytest

from eval.metrics import Metric, citation_precision, citation_recall
from retrieval import Passage
from retrieval.ranking.entailment import Entailment, LexicalEntailment

METRICS = [citation_recall(LexicalEntailment()), citation_precision(LexicalEntailment())]


def scores(**fields: object) -> list[float | None]:
    return [metric(dspy.Example(), dspy.Prediction(answer="", **fields)) for metric in METRICS]


def test_passages_of_every_field_can_be_cited_and_the_retrieved_ones_first() -> None:
    extract, whole, written = (
        Passage("1", "cut"),
        Passage("1", "Ada was born in Lund."),
        Passage("lm:1", "Lund is old."),
    )
    facts = [{"fact": "Ada was born in Lund", "passages": ["1"]}, {"fact": "Lund is old", "passages": ["lm:1"]}]
    assert scores(evidence=[extract], knowledge=[written], passages=[whole], known_facts=facts) == [1, 1]
    assert scores(evidence=[extract], knowledge=[written], passages=[], known_facts=facts) == [1 / 2, 1 / 2]


def test_the_title_is_part_of_the_premise() -> None:
    facts = [{"fact": "Ada was born in Lund", "passages": ["1"]}]
    assert scores(passages=[Passage("1", "She was born in Lund.", "Ada")], known_facts=facts) == [1, 1]


@pytest.mark.parametrize("metric", METRICS)
def test_no_citations_are_not_the_same_as_none_reported(metric: Metric) -> None:
    assert metric(dspy.Example(), dspy.Prediction(answer="x")) is None
    assert metric(dspy.Example(), dspy.Prediction(answer="x", known_facts=[])) == 0


def test_the_judge_is_asked_in_few_batches_and_of_nothing_twice() -> None:
    class Counting(Entailment):
        def __init__(self) -> None:
            self.batches: list[int] = []

        def batch(self, pairs: object) -> list[float]:
            assert isinstance(pairs, list)
            assert len(set(pairs)) == len(pairs) > 0
            self.batches.append(len(pairs))
            return LexicalEntailment().batch(pairs)

    passages = [Passage(str(n), text) for n, text in enumerate(["Ada", "born Lund", "noise", "Ada born Lund"])]
    facts = [{"fact": "Ada was born in Lund", "passages": ids} for ids in (["0", "1"], ["3"], ["2"], ["3", "2"])]
    prediction = dspy.Prediction(answer="", passages=passages, known_facts=facts)
    judge = Counting()
    assert citation_recall(judge)(dspy.Example(), prediction) == 3 / 4
    assert judge.batches == [4]
    judge.batches.clear()
    assert citation_precision(judge)(dspy.Example(), prediction) == 4 / 6
    assert judge.batches == [4, 4, 3]  # together; each alone; the others without each that is not enough alone
