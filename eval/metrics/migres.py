"""The two ways in which the evaluator of MIGRES's authors matches answers (code/evaluate.py)."""

from typing import Any

from dspy import Example, Prediction

from eval.metrics.squad import best, normalise
from eval.metrics.yesno import verdict

__all__ = ["cover_em", "migres_em"]


def cover_em(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 if the answer contains a gold answer, both normalised; else 0. ALCE's string match is the same.

    As in the evaluator, it may be anywhere in the answer, even inside a word. A gold answer of which normalising leaves
    nothing ("The The") is in every answer.
    """
    return best(lambda answer, gold: float(normalise(gold) in normalise(answer)), example, prediction)


def migres_em(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 if the answer matches a gold answer by the evaluator's lenient rule; else 0.

    Both are normalised. They match if they are equal, if they differ only in spaces, or if they have the same number of
    words and every word of the gold answer is in the answer, in any order. The evaluator does not compare how often a
    word occurs, so "b c" matches "b b".

    Yes matches true, and no matches false. The evaluator does this for gold answers that are true or false, as in its
    files of StrategyQA; here it works both ways, because our files have yes and no.
    """
    return best(_score, example, prediction)


def _score(answer: str, gold: str) -> float:
    said, right = normalise(answer), normalise(gold)
    if said.replace(" ", "") == right.replace(" ", ""):
        return 1.0
    if verdict(gold):
        return float(verdict(answer) == verdict(gold))
    words, gold_words = said.split(" "), right.split(" ")
    return float(len(words) == len(gold_words) and set(gold_words) <= set(words))
