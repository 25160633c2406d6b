"""Answering from known facts, or saying what is missing."""

import dspy

from signatures.replies import ShortAnswer, YesNoOrUnanswerable

__all__ = [
    "DetectMissing",
    "DetectMissingYesNo",
]


# MIGRES, section 3.2, main module, and its prompt in Table 17. That one also asks for a confidence from 1 to 5, which
# the method has no use for.
class DetectMissing(dspy.Signature):
    """Answer the question from the known facts and from nothing else. If they suffice, give an accurate and concise
    answer, and explain how it follows from them. If they do not, the answer is: unanswerable. Then explain what keeps
    you from answering, and sum up the information that is missing."""

    facts: str = dspy.InputField(desc="known facts, numbered, one per line; may be empty")
    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField(desc="one or a few words, no sentence; or the word unanswerable")
    explanation: str = dspy.OutputField(default_factory=str)
    missing: str = dspy.OutputField(
        desc="the missing information in one sentence; empty if the facts suffice", default_factory=str
    )


# The same for StrategyQA (caption of Table 17).
class DetectMissingYesNo(dspy.Signature):
    """Judge by the known facts, and by nothing else, whether yes or no is right. If they suffice, decide for one of the
    two, and explain how it follows from them. If they do not, the answer is: unanswerable. Then explain what keeps you
    from deciding, and sum up the information that is missing."""

    facts: str = dspy.InputField(desc="known facts, numbered, one per line; may be empty")
    question: str = dspy.InputField(desc="a question to be answered with yes or no")
    answer: YesNoOrUnanswerable = dspy.OutputField(desc="yes, no or unanswerable")
    explanation: str = dspy.OutputField(default_factory=str)
    missing: str = dspy.OutputField(
        desc="the missing information in one sentence; empty if the facts suffice", default_factory=str
    )
