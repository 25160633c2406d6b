"""The two matches of the evaluator that MIGRES's authors released (code/evaluate.py)."""

from typing import Any

from dspy import Example, Prediction

from eval.metrics.squad import best, normalise
from eval.metrics.yesno import verdict

__all__ = ["cover_em", "migres_em"]


def cover_em(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 where the answer contains a gold answer, both normalised; else 0. ALCE's string match is the same.

    As in the evaluator any place in the answer will do, inside of a word too, and a gold answer of which normalising
    leaves nothing ("The The") is in every answer.
    """
    return best(lambda answer, gold: float(normalise(gold) in normalise(answer)), example, prediction)


def migres_em(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """1 where the answer matches a gold answer by the evaluator's lenient rule; else 0.

    Both normalised they match if they are equal, if they are but for spaces, or if they have the same number of words
    and every word of the gold answer is one of the answer's, in any order; the evaluator does not ask how often, and so
    takes "b c" for a match of "b b". Yes matches true, and no false: there for gold answers that are true or false,
    here both ways round, for StrategyQA's are yes and no in our files and true and false in theirs.
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
