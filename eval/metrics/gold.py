"""What is known of a question: its gold answers, whether a text states one, and the steps that lead there."""

import re
import string
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from dspy import Example

__all__ = [
    "Step",
    "decomposition_of",
    "golds_of",
    "is_yes_no",
    "normalise",
    "statable",
    "states",
    "steps_of",
    "verdict",
]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_VERDICTS = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}


def normalise(text: str) -> str:
    """Lower case, no ASCII punctuation, no articles, single spaces."""
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text.lower().translate(_PUNCTUATION)).split())


def golds_of(example: Example) -> list[str]:
    """The gold answers: `answers`, or else `answer` alone, as in many of DSPy's data sets."""
    if answers := example.get("answers"):
        return list(answers)
    return [example.answer] if "answer" in example else []


def is_yes_no(example: Example) -> bool:
    """Whether the question has gold answers and all of them are yes or no."""
    golds = golds_of(example)
    return bool(golds) and all(map(verdict, golds))


def verdict(text: str) -> str | None:
    """Yes or no, if the normalised text is yes, true, no or false; else None."""
    return _VERDICTS.get(normalise(text))


def statable(example: Example) -> list[str]:
    """The gold answers that a text can state; empty for a question that is answered by yes or no."""
    return [] if is_yes_no(example) else golds_of(example)


def states(text: str, golds: Sequence[str]) -> bool:
    """Whether the text contains the words of a gold answer, one after the other."""
    words = f" {normalise(text)} "
    return any(f" {normalise(gold)} " in words for gold in golds if normalise(gold))


class Step(NamedTuple):
    """A sub-question that can be understood by itself, and its answer."""

    question: str
    answer: str


def steps_of(example: Example) -> list[Step]:
    """The steps of a question, in order; empty if they are not known.

    They come from its `decomposition` (MuSiQue: objects with `question` and `answer`, where #1 is replaced by the
    answer of the first step, and so on), else from its `evidences` (2WikiMultiHopQA: triples of a subject, a relation
    and an object, which become a question for the object). Steps without an answer are left out.
    """
    if decomposition := list(decomposition_of(example)):
        return _resolved(decomposition)
    return [Step(f"What is the {relation} of {subject}?", object_) for subject, relation, object_ in _triples(example)]


def decomposition_of(example: Example) -> Iterator[Step]:
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


def _triples(example: Example) -> list[Any]:
    return [triple for triple in example.get("evidences") or () if len(triple) == 3]
