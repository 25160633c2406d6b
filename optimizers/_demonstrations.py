"""Labelled examples for predictors in the middle of a program, made from what a data set says of its questions."""

import random
from collections.abc import Iterable

import dspy

from retrieval import Passage, Retriever, number, union

__all__ = ["labelled"]


def labelled(examples: Iterable[dspy.Example], retriever: Retriever, *, k: int = 5) -> list[dspy.Example]:
    """The examples, with the fields that signatures ask for as far as the gold allows.

    - `context`: k numbered passages, the gold ones among what the question itself finds, shuffled
    - `relevant`: the numbers of the gold ones in it
    - `passage`: the gold passages' text, which is what a passage from memory should say
    - `reasoning`: the sub-questions with their answers, where the data set has them

    Gold passages are found by searching for their titles. Where one cannot be found the example keeps its answer alone.
    """
    return [_labelled(example, retriever, k) for example in examples]


def _labelled(example: dspy.Example, retriever: Retriever, k: int) -> dspy.Example:
    gold = [_titled(title, retriever) for title in example.get("gold_titles") or ()]
    known = [passage for passage in gold if passage is not None]
    made = example.copy()
    if not gold or len(known) < len(gold) or len(known) > k:
        return made
    context = union(known, retriever(example.question, k))[:k]
    random.Random(example.question).shuffle(context)
    made.context = number(context)
    made.relevant = [n for n, passage in enumerate(context, 1) if passage in known]
    made.passage = " ".join(passage.text for passage in known)
    if steps := _steps(example.get("decomposition")):
        made.reasoning = steps
    return made


def _titled(title: str, retriever: Retriever) -> Passage | None:
    return next((passage for passage in retriever(title, 10) if passage.title == title), None)


def _steps(decomposition: object) -> str:
    """Sub-questions and answers as one line of reasoning; empty where the data set gives questions without answers."""
    steps = decomposition if isinstance(decomposition, list) else []
    if not all(isinstance(step, dict) and step.get("question") and step.get("answer") for step in steps):
        return ""
    return " ".join(f"{step['question']} {step['answer']}." for step in steps)
