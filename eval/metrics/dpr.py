"""Whether a retrieved passage states an answer, by the rule of DPR's evaluation (dpr/data/qa_validation.py).

Text and answer are decomposed (Unicode NFD), lower-cased, and split into tokens: runs of letters, digits and marks, and
single other characters. The answer's tokens must be in the text one after the other. The title does not count.

The mean over questions is called top-k retrieval accuracy (Sachan et al., UPR) or recall@k (QPaug). Chain-of-Rewrite
uses both names: the former for its last ranking, the latter for what it retrieved.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any

import regex
from dspy import Example, Prediction

from eval.metrics.protocol import Metric
from eval.metrics.ranking import ranking
from eval.metrics.squad import golds_of
from eval.metrics.yesno import is_yes_no

__all__ = ["answer_recall", "has_answer", "top_k_accuracy"]

_TOKEN = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")


def answer_recall(k: int, *, name: str = "answer_recall") -> Metric:
    """The metric that is 1 if one of the first k retrieved passages states an answer, else 0.

    The ranking is the prediction's `retrieved` (ids) if the program reports it, else its `passages` in the order in
    which they came: with several queries, those of the first query come first. The metric is undefined for a program
    that reports neither, and for questions that are answered by yes or no, which nearly every passage "states".

    Args:
        k: How many passages count.
        name: The metric's name.
    """
    return _hit(k, ("retrieved", "passages"), name)


def top_k_accuracy(k: int, *, name: str = "top_k_accuracy") -> Metric:
    """Like `answer_recall`, but by the last ranking of a program that makes one: its `ranked` (ids)."""
    return _hit(k, ("ranked", "retrieved", "passages"), name)


def _hit(k: int, fields: Sequence[str], name: str) -> Metric:
    def metric(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
        golds, found = golds_of(example), ranking(prediction, *fields)
        if not golds or is_yes_no(example) or found is None:
            return None
        return float(any(has_answer(passage.text, golds) for passage in found[:k]))

    metric.__name__ = name
    return metric


def has_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether the text contains the tokens of one of the answers; every text contains an answer without tokens."""
    words = _tokens(text)
    return any(_stands_in(_tokens(answer), words) for answer in answers)


def _tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(unicodedata.normalize("NFD", text))]


def _stands_in(part: list[str], words: list[str]) -> bool:
    return any(words[at : at + len(part)] == part for at in range(len(words) - len(part) + 1))
