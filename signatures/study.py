"""Judging what other acts brought to light: whether facts are of use, and whether the right information is missing."""

import dspy

__all__ = ["AlignMissing", "SelectUseful"]


# MIGRES, section 2.1 and Table 13, verification of usefulness; there for one statement at a time.
class SelectUseful(dspy.Signature):
    """Take the numbered facts one after the other and decide whether each is useful for answering the question: a fact
    is useful when the answer depends on it, even if it covers only one step. Then give the numbers of the useful ones.
    It can be that none is."""

    facts: str = dspy.InputField(desc="numbered facts, one per line")
    question: str = dspy.InputField()
    useful: list[int] = dspy.OutputField(desc="numbers of the useful facts, such as [1, 4]; [] for none")


# MIGRES, section 2.1 and Table 14, verification of the alignment of missing information.
class AlignMissing(dspy.Signature):
    """Somebody said which information is missing. Decide whether that is what the questions ask for: whether at least
    one of them asks for the missing information or for a part of it."""

    missing: str = dspy.InputField(desc="the information that is said to be missing")
    questions: str = dspy.InputField(desc="numbered questions, one per line")
    explanation: str = dspy.OutputField()
    aligned: bool = dspy.OutputField(desc="True if a question asks for what is missing")
