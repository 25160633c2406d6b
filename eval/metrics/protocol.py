from typing import Any, Protocol

from dspy import Example, Prediction

__all__ = ["Metric"]


class Metric(Protocol):
    """What every metric is."""

    __name__: str

    def __call__(self, example: Example, prediction: Prediction, trace: Any = None, /) -> float | None: ...
