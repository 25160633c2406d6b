"""Accuracy on questions that are answered by yes or no, as in StrategyQA."""

from typing import Any

from dspy import Example, Prediction

from eval.metrics.squad import answer_of, golds_of, normalise

__all__ = ["accuracy", "is_yes_no", "verdict"]

_VERDICTS = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}


def accuracy(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 if the answer is the gold yes or no, else 0; undefined for other questions.

    True is a yes and false is a no, as in MIGRES's evaluator. Any other text scores 0, even "Yes, because …": to make a
    plain yes of that is up to the program.
    """
    if not is_yes_no(example):
        return None
    return float(verdict(answer_of(prediction)) in map(verdict, golds_of(example)))


def is_yes_no(example: Example) -> bool:
    """Whether the question has gold answers and all of them are yes or no."""
    golds = golds_of(example)
    return bool(golds) and all(map(verdict, golds))


def verdict(text: str) -> str | None:
    """Yes or no, if the normalised text is yes, true, no or false; else None."""
    return _VERDICTS.get(normalise(text))
