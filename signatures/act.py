"""Choosing what to do: how to search for a question, and the next action in a loop of thoughts and searches."""

import re
from typing import Any, Literal

import dspy

from signatures.replies import Choice, ShortAnswer, YesNoOrNone

__all__ = ["ChooseStrategy", "NextStep", "NextStepYesNo", "ReasonOn", "ReasonOnYesNo"]


class Chosen(str):
    """The word of an action."""

    argument = ""


class Action(Choice, shows=Literal["search", "finish"]):
    """What to do next; what stands in brackets behind it, as in "Finish[Paris]", is its `argument`."""

    @classmethod
    def parse(cls, value: Any) -> "Chosen":
        chosen = Chosen(super().parse(value))
        called = (
            re.search(rf"\b{chosen}[*_ ]*\[([^\[\]\n]*)\]", value, re.IGNORECASE) if isinstance(value, str) else None
        )
        chosen.argument = called[1].strip() if called else ""
        return chosen


# ReAct, as BlendFilter describes it in appendix C: thought and action in one reply; the observation is the caller's.
class NextStep(dspy.Signature):
    """Work out the answer of the question step by step. Look at the steps so far, each a thought, an action and the
    passages that it found; think about what they settle and what is still missing; then choose the next action: search
    for passages about one missing fact, or finish with the answer as soon as it is known."""

    question: str = dspy.InputField()
    steps: str = dspy.InputField(desc="the steps so far; empty at the beginning")
    thought: str = dspy.OutputField(desc="what is known, what is missing, what to do next", default_factory=str)
    action: Action = dspy.OutputField()
    query: str = dspy.OutputField(desc="what to search for; empty to finish", default_factory=str)
    answer: ShortAnswer = dspy.OutputField(
        desc="to finish: the answer alone, one or a few words; empty to search", default_factory=str
    )


# The same for StrategyQA.
class NextStepYesNo(NextStep):
    answer: YesNoOrNone = dspy.OutputField(  # type: ignore[assignment]
        desc="to finish: yes or no; None to search", default_factory=lambda: None
    )


# Search-o1 (Li et al. 2025): the reasoning model asks for a search wherever it is unsure, and goes on with what comes
# back; it is told how often it may. The paper marks queries and results with tokens of their own.
class ReasonOn(dspy.Signature):
    """Reason step by step towards the answer of the question, and go on where the reasoning so far stops. Wherever you
    are not sure of a fact, do not guess: search for it, one fact at a time, with a query that names the people, works,
    places and dates. What the search brings will stand in the reasoning when you are asked again. Do not repeat a query
    that is there. As soon as the answer follows, or when no searches are left, finish with it."""

    question: str = dspy.InputField()
    chain: str = dspy.InputField(
        desc="the reasoning so far, with each search and what it brought; empty at the beginning"
    )
    searches_left: str = dspy.InputField(desc="how many more searches you can make")
    thought: str = dspy.OutputField(
        desc="how the reasoning goes on, up to the search or the answer", default_factory=str
    )
    action: Action = dspy.OutputField()
    query: str = dspy.OutputField(desc="what to search for; empty to finish", default_factory=str)
    answer: ShortAnswer = dspy.OutputField(
        desc="to finish: the answer alone, one or a few words; empty to search", default_factory=str
    )


# The same for StrategyQA.
class ReasonOnYesNo(ReasonOn):
    answer: YesNoOrNone = dspy.OutputField(  # type: ignore[assignment]
        desc="to finish: yes or no; None to search", default_factory=lambda: None
    )


class Strategy(Choice, shows=Literal["single", "multiple", "memory"], aliases={"multi": "multiple"}):
    """How to search for a question."""


# Adaptive-RAG (Jeong et al. 2024), the classifier of a question's complexity, which the paper trains without a prompt.
class ChooseStrategy(dspy.Signature):
    """Decide, without answering the question, how much searching its answer takes. Choose memory if you know the answer
    for certain; single if one search with the question would find passages that state it; multiple if facts have to be
    put together of which one has to be found before the next can be looked up, or which no one passage has."""

    question: str = dspy.InputField()
    strategy: Strategy = dspy.OutputField()
