"""Puts the steps that lead to an answer into words: as questions to be searched with, and as statements."""

import re
from typing import NamedTuple

import dspy

from eval.metrics.gold import steps_of

__all__ = ["Worded", "as_sentence", "worded_steps"]

_TRIPLE = re.compile(r"(.+?) >> (.+)")  # MuSiQue's short form of a step: subject >> relation
# Relations of Wikidata that are no nouns: "Zorx is part of Vorx", "Zorx shares border with Vorx".
_IS = re.compile(r"((?:member|part) of|located in)\b.*|(.*\b(?:after|at|by|from|in|of|on|to|with))")
_DOES = re.compile(r"(?:applies|contains|follows|has|shares)\b.*")


class Worded(NamedTuple):
    """A step that can be understood by itself."""

    question: str
    answer: str
    statement: str
    """What question and answer say together."""


def worded_steps(example: dspy.Example) -> list[Worded]:
    """The steps of a question, in order, as `eval.metrics.gold.steps_of` finds them: those with an answer."""
    if not example.get("decomposition"):
        return [_of_relation(*triple) for triple in example.get("evidences") or () if len(triple) == 3]
    steps = []
    for question, answer in steps_of(example):
        if triple := _TRIPLE.fullmatch(question):
            steps.append(_of_relation(triple[1], triple[2], answer))
        else:
            asked = question[:1].upper() + question[1:].rstrip(" ?.") + "?"
            steps.append(Worded(asked, answer, as_sentence(f"{asked} {answer}")))
    return steps


def as_sentence(text: str) -> str:
    """The text with a full stop, unless it has an end already."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _of_relation(subject: str, relation: str, object_: str) -> Worded:
    if _DOES.fullmatch(relation):
        question, said = f"What is it that {subject} {relation}?", f"{subject} {relation} {object_}"
    elif verb := _IS.fullmatch(relation):
        said_so = verb[1] or verb[2]
        question, said = f"What is {subject} {said_so}?", f"{subject} is {said_so} {object_}"
    else:
        question, said = f"What is the {relation} of {subject}?", f"The {relation} of {subject} is {object_}"
    return Worded(question, object_, as_sentence(said))
