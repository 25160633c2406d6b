"""Naming answers that a question could have."""

import dspy

__all__ = ["ProposeTwoAnswers"]


# SuRe (Kim et al. 2024), candidate generation: two candidates of at most three words each, in one completion.
class ProposeTwoAnswers(dspy.Signature):
    """Read the numbered passages and propose two candidates for the answer to the question: the one that you take to be
    right, and another one that is not the same in other words. Give each alone, in at most three words."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    answer: str = dspy.OutputField(desc="the likeliest candidate, at most three words")
    alternative: str = dspy.OutputField(desc="another entity, date or number that it could be, at most three words")
