"""The scores of one question by many metrics, with what their judges cost."""

from collections.abc import Sequence

import dspy

from eval.metrics import Metric
from eval.records.record import HIGHEST
from programs.instruments.cost import Spent, measured

__all__ = ["defined", "score"]

_NOTHING = dspy.Prediction(answer="", queries=[], passages=[], evidence=[], known_facts=[])


def score(
    metrics: Sequence[Metric], example: dspy.Example, prediction: dspy.Prediction, judging: dict[str, Spent]
) -> dict[str, float | None]:
    """The scores of the metrics that are defined; their LM calls are added to `judging`.

    Raises:
        ValueError: a metric gave no number from 0 to 1.
    """
    scores: dict[str, float | None] = {}
    for metric in metrics:
        try:
            with measured() as cost:
                value = metric(example, prediction)
        finally:
            if cost.lm_calls:
                judging[metric.__name__] = cost.of_lms()
        if value is not None:
            scores[metric.__name__] = _checked(metric.__name__, float(value))
    return scores


def defined(metrics: Sequence[Metric], example: dspy.Example) -> dict[str, float | None]:
    """The metrics that count a question which has failed: their names, each with None."""
    return dict.fromkeys(score(metrics, example, _NOTHING, {}))


def _checked(metric: str, value: float) -> float:
    if not 0 <= value <= HIGHEST:
        raise ValueError(f"the metric {metric} gave {value:.4g}: scores are from 0 to 1")
    return value
