"""Accuracy as PopQA's script computes it (Mallen et al. 2023, run_model.py)."""

from typing import Any

from dspy import Example, Prediction

from eval.metrics.squad import best

__all__ = ["popqa_accuracy"]


def popqa_accuracy(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 if the answer contains a gold answer as it is, in lower case, or capitalised; else 0.

    As in the script, nothing else is normalised, and the match may be anywhere in the answer, even inside a word: "us"
    is found in "music". Capitalising lowers all but the first letter, so "new York" is tried as "New york".
    """
    return best(_score, example, prediction)


def _score(answer: str, gold: str) -> float:
    return float(any(form in answer for form in (gold, gold.lower(), gold.capitalize())))
