"""Recall, precision and S-precision of the gold passages among those retrieved, or those shown to the answering call.

recall       share of the gold passages that were found
precision    share of the found passages that are gold; 0 if nothing was found
s_precision  1 if exactly the gold passages were found, else 0 (BlendFilter's name)

They are sp_recall, sp_prec and sp_em of HotpotQA's hotpot_evaluate_v1.py, computed on titles or ids instead of
sentences.

Each looks at `passages`, at `evidence`, or, as NAME@K, at the first K of the ranking of what was retrieved. That
ranking is `retrieved` (ids) if the program reports it, else `passages` in the order in which they came: with several
queries, those of the first query come first. Text that an LM wrote (ids lm:…) is no passage. But if it is a statement
whose passages the program reports, as `programs.steps.result.Statements` says, it stands for these passages.

Titles are compared as they are. A title means the same in every corpus made from one encyclopaedia, so compare corpora
by titles; but the scores are too high where titles repeat (several passages of one article, namesakes). Ids (…_by_id)
are exact, and mean something only in the corpus that the questions were made for.

All are undefined for a question without gold, and for a program that does not report these passages.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from dspy import Example, Prediction

from eval.metrics.protocol import Metric
from eval.metrics.ranking import ranking
from retrieval import Passage

__all__ = [
    "passage_metric",
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


def passage_metric(
    measure: Literal["recall", "precision", "s_precision"],
    *fields: str,
    by_id: bool = False,
    k: int | None = None,
    name: str,
) -> Metric:
    """A metric of this family.

    Args:
        measure: What to compute.
        fields: Fields of the prediction; the first one that it has is compared.
        by_id: Whether to compare ids with `gold_passages`, and not titles with `gold_titles`.
        k: How many passages to compare, from the first; None for all.
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
    """The retrieved passages that the statements in `reported` come from."""
    texts = {passage.text for passage in reported if passage.id.startswith("lm:")}
    lists = [value for _, value in prediction.items() if isinstance(value, list)] if texts else []
    records = [record for each in lists for record in each if isinstance(record, dict)]
    ids = {id_ for record in records if record.get("fact") in texts for id_ in record.get("passages") or ()}
    return [passage for passage in ranking(prediction, "passages") or () if passage.id in ids]


recall_passages = passage_metric("recall", "passages", name="recall_passages")
recall_evidence = passage_metric("recall", "evidence", name="recall_evidence")
recall_passages_by_id = passage_metric("recall", "passages", by_id=True, name="recall_passages_by_id")
recall_evidence_by_id = passage_metric("recall", "evidence", by_id=True, name="recall_evidence_by_id")
precision_passages = passage_metric("precision", "passages", name="precision_passages")
precision_evidence = passage_metric("precision", "evidence", name="precision_evidence")
precision_passages_by_id = passage_metric("precision", "passages", by_id=True, name="precision_passages_by_id")
precision_evidence_by_id = passage_metric("precision", "evidence", by_id=True, name="precision_evidence_by_id")
s_precision_passages = passage_metric("s_precision", "passages", name="s_precision_passages")
s_precision_evidence = passage_metric("s_precision", "evidence", name="s_precision_evidence")
s_precision_passages_by_id = passage_metric("s_precision", "passages", by_id=True, name="s_precision_passages_by_id")
s_precision_evidence_by_id = passage_metric("s_precision", "evidence", by_id=True, name="s_precision_evidence_by_id")
