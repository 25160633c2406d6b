"""Recall of the gold passages among what a program retrieved, and among what its answering call was shown.

Titles are compared as they are. They mean the same in every corpus that is made from the same encyclopaedia, so these
are the figures to compare between corpora; but where titles repeat (several passages of one article, namesakes) they
flatter. Ids are exact, and mean something only in the corpus that the questions were made for.
"""

from typing import Any

from dspy import Example, Prediction

from retrieval import Passage

__all__ = ["recall_evidence", "recall_evidence_by_id", "recall_passages", "recall_passages_by_id"]


def recall_passages(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """Share of the gold titles that are titles of retrieved passages."""
    return _recall(example, "gold_titles", prediction, "passages", "title")


def recall_evidence(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """Share of the gold titles that are titles of the evidence."""
    return _recall(example, "gold_titles", prediction, "evidence", "title")


def recall_passages_by_id(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """Share of the gold passages that were retrieved."""
    return _recall(example, "gold_passages", prediction, "passages", "id")


def recall_evidence_by_id(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """Share of the gold passages that are evidence, as a whole or as an extract."""
    return _recall(example, "gold_passages", prediction, "evidence", "id")


def _recall(example: Example, gold_field: str, prediction: Prediction, found_field: str, key: str) -> float | None:
    """None for a question without gold, and for a program that does not report passages in this field."""
    gold, found = set(example.get(gold_field) or ()), prediction.get(found_field)
    if not gold or not isinstance(found, list) or not all(isinstance(passage, Passage) for passage in found):
        return None
    return len(gold & {getattr(passage, key) for passage in found}) / len(gold)
