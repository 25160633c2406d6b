"""Finds the steps that lead to an answer: sub-questions with their answers, as far as a data set has them."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import dspy

__all__ = ["Step", "decomposition_of", "steps_of"]


class Step(NamedTuple):
    """A sub-question that can be understood by itself, and its answer."""

    question: str
    answer: str


def steps_of(example: dspy.Example) -> list[Step]:
    """The steps of a question, in order; empty if they are not known.

    They come from its `decomposition` (MuSiQue: objects with `question` and `answer`, where #1 is replaced by the
    answer of the first step, and so on), else from its `evidences` (2WikiMultiHopQA: triples of a subject, a relation
    and an object, which become a question for the object). Steps without an answer are left out.
    """
    if decomposition := list(decomposition_of(example)):
        return _resolved(decomposition)
    return [Step(f"What is the {relation} of {subject}?", object_) for subject, relation, object_ in _triples(example)]


def decomposition_of(example: dspy.Example) -> Iterator[Step]:
    """The steps of its `decomposition` as they are written there; an unknown answer is empty."""
    for step in example.get("decomposition") or ():
        if isinstance(step, str):  # StrategyQA, Bamboogle: no answers
            yield Step(step, "")
        else:
            answer = step["answer"]
            yield Step(step["question"], answer if isinstance(answer, str) else next(iter(answer), ""))


def _resolved(steps: list[Step]) -> list[Step]:
    def answer(reference: re.Match[str]) -> str:
        number = int(reference[1])
        return (steps[number - 1].answer if 0 < number <= len(steps) else "") or reference[0]

    return [Step(re.sub(r"#(\d{1,2})\b", answer, question), said) for question, said in steps if said]


def _triples(example: dspy.Example) -> list[Any]:
    return [triple for triple in example.get("evidences") or () if len(triple) == 3]
