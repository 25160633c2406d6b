"""Citations against ALCE's eval.py (github.com/princeton-nlp/ALCE, 3fdc2ed).

The values come from the loop of its compute_autoais with citation=True and at_most_citations=3, run with the judge of
entailment below in place of its model.
"""

import dspy
import pytest

from eval.metrics import citation_precision, citation_recall
from retrieval import Passage
from retrieval.ranking.entailment import Entailment

TEXTS = ["ada was born", "in lund", "ada was born in lund", "noise"]
STATEMENT = "ada was born in lund"


class Words(Entailment):
    def batch(self, pairs: object) -> list[float]:
        assert isinstance(pairs, list)
        return [float(set(statement.split()) <= set(premise.split())) for premise, statement in pairs]


@pytest.mark.parametrize(
    ("cited", "recall", "precision"),  # the numbers of the texts, counted from 0, for each statement
    [
        ([[0, 1]], 1, 1),
        ([[2]], 1, 1),
        ([[2, 3]], 1, 1 / 2),  # one too many
        ([[0, 3]], 0, 0),
        ([[]], 0, 0),
        ([[0, 8]], 0, 0),  # there is no text 8
        ([[0, 1], [2, 8]], 1 / 2, 1),  # … and the citations beside it do not count
        ([[3, 0, 1, 2]], 1, 2 / 3),  # nor do those after the third
        ([[3, 3, 3, 2]], 0, 0),
        ([[0, 1, 2]], 1, 1 / 3),  # the third is enough
        ([[2], [3]], 1 / 2, 1 / 2),
        ([[2, 3], [], [0, 8], [2]], 1 / 2, 2 / 3),
        ([[2, 2]], 1, 1),
    ],
)
def test_citations(cited: list[list[int]], recall: float, precision: float) -> None:
    prediction = dspy.Prediction(
        answer="lund",
        passages=[Passage(str(n), text) for n, text in enumerate(TEXTS)],
        known_facts=[{"fact": STATEMENT, "passages": [str(n) for n in numbers]} for numbers in cited],
    )
    scores = [metric(Words())(dspy.Example(), prediction) for metric in (citation_recall, citation_precision)]
    assert scores == pytest.approx([recall, precision])
