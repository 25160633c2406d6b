"""Exact match and F1 as the evaluation script of SQuAD v1.1 computes them, and the parts that other metrics share."""

import re
import string
from collections import Counter
from collections.abc import Callable
from typing import Any

from dspy import Example, Prediction

from programs.steps.text import as_text

__all__ = ["answer_of", "best", "em", "f1", "golds_of", "normalise", "overlap"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def em(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 if the answer equals a gold answer, both normalised; else 0."""
    return best(lambda answer, gold: float(normalise(answer) == normalise(gold)), example, prediction)


def f1(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """F1 of the answer's words against a gold answer's, as multisets, both normalised; the best gold answer counts."""
    return best(overlap, example, prediction)


def normalise(text: str) -> str:
    """Lower case, no ASCII punctuation, no articles, single spaces."""
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text.lower().translate(_PUNCTUATION)).split())


def golds_of(example: Example) -> list[str]:
    """The gold answers: `answers`, or else `answer` alone, as in many of DSPy's data sets."""
    if answers := example.get("answers"):
        return list(answers)
    return [example.answer] if "answer" in example else []


def answer_of(prediction: Prediction) -> str:
    """The answer as text, whatever its type: yes or no for a bool, empty for None.

    Raises:
        AttributeError: the prediction has no answer.
    """
    answer = prediction.answer
    return as_text(answer if answer is None or isinstance(answer, bool) else str(answer))


def best(score: Callable[[str, str], float], example: Example, prediction: Prediction) -> float | None:
    """The highest score(answer, gold answer) over the gold answers; None without gold answers."""
    answer = answer_of(prediction)
    return max((score(answer, gold) for gold in golds_of(example)), default=None)


def overlap(answer: str, gold: str) -> float:
    """F1 of the words of two texts, both normalised."""
    words, gold_words = normalise(answer).split(), normalise(gold).split()
    same = (Counter(words) & Counter(gold_words)).total()
    # As in the script, no word in common gives 0, also if both are empty.
    return 2 * same / (len(words) + len(gold_words)) if same else 0.0
