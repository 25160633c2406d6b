"""The type of every metric."""

from typing import Any, Protocol

from dspy import Example, Prediction

__all__ = ["Metric"]


class Metric(Protocol):
    """Scores a prediction from 0 (worst) to 1; None if the metric is undefined for it."""

    __name__: str

    def __call__(self, example: Example, prediction: Prediction, trace: Any = None, /) -> float | None: ...
