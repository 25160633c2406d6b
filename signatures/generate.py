"""Text that an LM writes from its own knowledge."""

import dspy

__all__ = ["WritePassage"]


# BlendFilter, section 3.2, internal knowledge augmentation, and its prompt in appendix F.
class WritePassage(dspy.Signature):
    """Write down, as a short encyclopaedia passage, everything you know that helps to answer the question."""

    question: str = dspy.InputField()
    passage: str = dspy.OutputField(desc="a few factual sentences that name people, places, works and dates")
