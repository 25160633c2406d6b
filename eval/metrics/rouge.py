"""Rouge-L of short answers.

Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004, section 3; the F-measure that weighs precision and
recall equally. The words are those of the normalised text, as in QPaug. On ASCII text the values are those of Google's
rouge-score (rougeL, without stemmer). On other text they differ, because rouge-score drops every letter that is not
ASCII: it reads Zürich as "z rich", and no two answers in Greek are alike for it.
"""

from collections.abc import Sequence
from typing import Any

from dspy import Example, Prediction

from eval.metrics.squad import best, normalise

__all__ = ["rouge_l"]


def rouge_l(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """F-measure of the longest common subsequence of words, both sides normalised; the best gold answer counts."""
    return best(_score, example, prediction)


def _score(answer: str, gold: str) -> float:
    words, gold_words = normalise(answer).split(), normalise(gold).split()
    same = _longest_common(words, gold_words)
    return 2 * same / (len(words) + len(gold_words)) if same else 0.0


def _longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    lengths = [0] * (len(second) + 1)  # of the longest common part of `first` so far and each beginning of `second`
    for word in first:
        row = [0]
        for n, other in enumerate(second):
            row.append(lengths[n] + 1 if word == other else max(lengths[n + 1], row[n]))
        lengths = row
    return lengths[-1]
