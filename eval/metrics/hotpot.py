"""F1 as HotpotQA's hotpot_evaluate_v1.py computes it. Its exact match is SQuAD's, `em`."""

from typing import Any

from dspy import Example, Prediction

from eval.metrics.squad import best, normalise, overlap

__all__ = ["hotpot_f1"]

_ALONE = {"yes", "no", "noanswer"}


def hotpot_f1(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """F1 as in SQuAD, but 0 if one of the two is yes, no or noanswer and the other one differs."""
    return best(_score, example, prediction)


def _score(answer: str, gold: str) -> float:
    said, right = normalise(answer), normalise(gold)
    return 0.0 if said != right and _ALONE & {said, right} else overlap(answer, gold)
