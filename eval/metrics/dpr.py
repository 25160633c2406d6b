"""Whether what was retrieved has an answer in it, by the rule of DPR's evaluation (dpr/data/qa_validation.py).

Text and answer are decomposed (Unicode NFD), split into runs of letters, digits and marks and into single other
characters, and lower-cased; the answer's tokens must stand in the text's one after the other. The title does not count.
Averaged over questions this is called top-k retrieval accuracy, as by Sachan et al. (UPR), or recall@k, as in QPaug and
in Chain-of-Rewrite, which has the former for its last ranking and the latter for what it retrieved.
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
    """The metric that is 1 where one of the first k passages retrieved has an answer, and else 0.

    The ranking is the prediction's `retrieved` (ids) where the program reports that, else its `passages` in the order
    in which they came: with several queries, the first query's come first. It is undefined for a program that reports
    neither, and for questions that are answered by yes or no, which nearly every passage "has".

    Args:
        k: How many passages count.
        name: The metric's name.
    """
    return _hit(k, ("retrieved", "passages"), name)


def top_k_accuracy(k: int, *, name: str = "top_k_accuracy") -> Metric:
    """The same for the last ranking of a program that makes one, its `ranked` (ids); see `answer_recall`."""
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
    """Whether the tokens of one of the answers stand in the text; those of an answer without tokens do."""
    words = _tokens(text)
    return any(_stands_in(_tokens(answer), words) for answer in answers)


def _tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(unicodedata.normalize("NFD", text))]


def _stands_in(part: list[str], words: list[str]) -> bool:
    return any(words[at : at + len(part)] == part for at in range(len(words) - len(part) + 1))
