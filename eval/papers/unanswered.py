"""Programs that only search: the call for the answer is left out where no figure depends on it."""

from typing import Any

import dspy

__all__ = ["ANSWER_LAST", "NoAnswer"]

ANSWER_LAST = frozenset({"blendfilter", "chain_of_rewrite", "cot", "direct", "qpaug"})
"""Programs whose predictor `answer` is asked for the answer and for nothing else: without it they find, rank and keep
the same passages. (ITER-RETGEN searches with what its predictor `answer` says, and so is not among them.)"""


class NoAnswer(dspy.Module):
    """Stands in the place of the predictor `answer`: asks no LM, and replies as if nothing could be parsed.

    Args:
        answer: The predictor, whose signature QPaug looks at.
    """

    def __init__(self, answer: dspy.Module) -> None:
        super().__init__()
        self.signature = getattr(answer, "signature", None)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return dspy.Prediction(answer=None, reasoning=None)
