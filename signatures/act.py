"""Choosing the next action in a loop of thoughts, searches and observations."""

from typing import Literal

import dspy

__all__ = ["NextStep", "NextStepYesNo"]


# ReAct, as BlendFilter describes it in appendix C: thought and action in one reply; the observation is the caller's.
class NextStep(dspy.Signature):
    """Work out the answer of the question step by step. Look at the steps so far, each a thought, an action and the
    passages that it found; think about what they settle and what is still missing; then choose the next action: search
    for passages about one missing fact, or finish with the answer as soon as it is known."""

    question: str = dspy.InputField()
    steps: str = dspy.InputField(desc="the steps so far; empty at the beginning")
    thought: str = dspy.OutputField(desc="what is known, what is missing, what to do next")
    action: Literal["search", "finish"] = dspy.OutputField()
    query: str | None = dspy.OutputField(desc="what to search for; None to finish")
    answer: str | None = dspy.OutputField(desc="to finish: the answer alone, one or a few words; None to search")


# The same for StrategyQA.
NextStepYesNo = NextStep.with_updated_fields(
    "answer", type_=bool | None, desc="to finish: True for yes, False for no; None to search"
)
