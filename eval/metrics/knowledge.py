"""Whether the passages that an LM wrote from memory are right, as far as the gold tells: MIGRES's Table 7.

A program reports such passages as `knowledge`, a list of `retrieval.Passage`, as MIGRES does.
"""

from typing import Any

from dspy import Example, Prediction

from eval.metrics.dpr import has_answer
from eval.metrics.squad import golds_of
from eval.metrics.yesno import verdict
from eval.tasks.steps import steps_of

__all__ = ["knowledge_accuracy", "sub_answers"]


def knowledge_accuracy(example: Example, prediction: Prediction, trace: Any = None, *_: Any) -> float | None:
    """The share of the passages from memory that state an answer, of the question or of a step that leads to it.

    They are compared by the rule of `eval.metrics.dpr`. None if the LM wrote no passage, or all answers are yes or no.
    """
    written, answers = prediction.get("knowledge"), sub_answers(example)
    if not isinstance(written, list) or not written or not answers:
        return None
    return sum(has_answer(passage.text, answers) for passage in written) / len(written)


def sub_answers(example: Example) -> list[str]:
    """The answers of the steps and of the question itself, each once, without those that are yes or no."""
    answers = [*(step.answer for step in steps_of(example)), *golds_of(example)]
    return [answer for answer in dict.fromkeys(answers) if not verdict(answer)]
