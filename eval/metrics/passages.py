"""Recall, precision and S-precision of the gold passages among what a program retrieved, or showed its answering call.

recall       share of the gold ones that were found
precision    share of the found ones that are gold; 0 where nothing was found
s_precision  1 where exactly the gold ones were found, else 0 (BlendFilter's name)

They are sp_recall, sp_prec and sp_em of HotpotQA's hotpot_evaluate_v1.py, on titles or ids where that has sentences.

Each looks at `passages`, at `evidence`, or, as NAME@K, at the first K of the ranking of what was retrieved: `retrieved`
(ids) where the program reports that, else `passages`, in the order in which they came: with several queries, the first
query's come first. Text that an LM wrote (ids lm:…) is no passage; where it is a statement that the program says the
passages of (`known_facts`), it stands for these, else it is not looked at.

Titles are compared as they are. They mean the same in every corpus that is made from the same encyclopaedia, so these
are the figures to compare between corpora; but where titles repeat (several passages of one article, namesakes) they
flatter. Ids (…_by_id) are exact, and mean something only in the corpus that the questions were made for.

All are undefined for a question without gold, and for a program that does not report the passages in question.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from dspy import Example, Prediction

from eval.metrics.protocol import Metric
from eval.metrics.ranking import ranking
from retrieval import Passage

__all__ = [
    "found",
    "precision_evidence",
    "precision_evidence_by_id",
    "precision_passages",
    "precision_passages_by_id",
    "recall_evidence",
    "recall_evidence_by_id",
    "recall_passages",
    "recall_passages_by_id",
    "s_precision_evidence",
    "s_precision_evidence_by_id",
    "s_precision_passages",
    "s_precision_passages_by_id",
]

_MEASURES: dict[str, Callable[[set[str], set[str]], float]] = {
    "recall": lambda gold, found: len(gold & found) / len(gold),
    "precision": lambda gold, found: len(gold & found) / len(found) if found else 0.0,
    "s_precision": lambda gold, found: float(gold == found),
}


def found(
    measure: Literal["recall", "precision", "s_precision"],
    *fields: str,
    by_id: bool = False,
    k: int | None = None,
    name: str,
) -> Metric:
    """A metric of this family.

    Args:
        measure: What is computed.
        fields: The fields of the prediction that are looked at: the first that it has.
        by_id: Compare with the ids in `gold_passages`, not with the titles in `gold_titles`.
        k: Look at the first so many only; None for all.
        name: The metric's name.
    """
    gold_field, key = ("gold_passages", "id") if by_id else ("gold_titles", "title")

    def metric(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
        gold, reported = set(example.get(gold_field) or ()), ranking(prediction, *fields)
        if not gold or reported is None:
            return None
        stated = _stated(reported[:k], prediction)
        seen = {getattr(passage, key) for passage in [*reported[:k], *stated] if not passage.id.startswith("lm:")}
        return _MEASURES[measure](gold, seen)

    metric.__name__ = name
    return metric


def _stated(reported: Sequence[Passage], prediction: Prediction) -> list[Passage]:
    """The retrieved passages that statements among what is reported are from."""
    texts = {passage.text for passage in reported if passage.id.startswith("lm:")}
    facts, retrieved = prediction.get("known_facts"), ranking(prediction, "passages")
    records = [fact for fact in facts if isinstance(fact, dict)] if isinstance(facts, list) else []
    ids = {id_ for record in records if record.get("fact") in texts for id_ in record.get("passages") or ()}
    return [passage for passage in retrieved or () if passage.id in ids]


recall_passages = found("recall", "passages", name="recall_passages")
recall_evidence = found("recall", "evidence", name="recall_evidence")
recall_passages_by_id = found("recall", "passages", by_id=True, name="recall_passages_by_id")
recall_evidence_by_id = found("recall", "evidence", by_id=True, name="recall_evidence_by_id")
precision_passages = found("precision", "passages", name="precision_passages")
precision_evidence = found("precision", "evidence", name="precision_evidence")
precision_passages_by_id = found("precision", "passages", by_id=True, name="precision_passages_by_id")
precision_evidence_by_id = found("precision", "evidence", by_id=True, name="precision_evidence_by_id")
s_precision_passages = found("s_precision", "passages", name="s_precision_passages")
s_precision_evidence = found("s_precision", "evidence", name="s_precision_evidence")
s_precision_passages_by_id = found("s_precision", "passages", by_id=True, name="s_precision_passages_by_id")
s_precision_evidence_by_id = found("s_precision", "evidence", by_id=True, name="s_precision_evidence_by_id")
