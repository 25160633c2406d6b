"""Metrics: named functions with DSPy's metric protocol, one family per file.

A metric is called as `metric(example, prediction)`, with a trace by BootstrapFewShot and with two arguments more by
GEPA; it scores the prediction from 0 (worst) to 1 and ignores the rest.

A metric is None where it is undefined: the question has no gold for it, or the program does not report what it looks
at. `eval.run` leaves such questions out of the metric's mean and says over how many it is. DSPy's own tools know only
numbers: `dspy.Evaluate` stops with a TypeError (and does not count a 0), BootstrapFewShot makes no demonstration of the
question. Give them the questions that have the gold:

    dspy.Evaluate(devset=[e for e in examples if e.get("gold_titles")], metric=recall_evidence)

Of f1 and recall BootstrapFewShot takes every score above 0 for a success unless it is given a `metric_threshold`.
"""

from typing import Any, Protocol

import dspy

from eval.metrics.recall import recall_evidence, recall_evidence_by_id, recall_passages, recall_passages_by_id
from eval.metrics.squad import em, f1

__all__ = [
    "STANDARD",
    "Metric",
    "em",
    "f1",
    "recall_evidence",
    "recall_evidence_by_id",
    "recall_passages",
    "recall_passages_by_id",
]


class Metric(Protocol):
    """What every metric is."""

    __name__: str

    def __call__(self, example: dspy.Example, prediction: dspy.Prediction, trace: Any = None, /) -> float | None: ...


STANDARD: tuple[Metric, ...] = (
    em,
    f1,
    recall_passages,
    recall_evidence,
    recall_passages_by_id,
    recall_evidence_by_id,
)
"""What `python -m eval` computes."""
