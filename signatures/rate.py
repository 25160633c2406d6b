"""Saying how probable it is that an answer is right."""

import dspy

__all__ = ["RateAnswer"]


# ALLIES (Sun et al. 2023), answer scoring, with the paper's bands.
class RateAnswer(dspy.Signature):
    """Estimate the probability that the proposed answer to the question is right, by the numbered passages, where there
    are any, and by your own reasoning. Up to 0.3, much speaks against it; up to 0.5, it is rather wrong, though nothing
    proves it; up to 0.7, it is rather right, though nothing proves it; above 0.7, much speaks for it. What does not
    answer the question has the probability 0."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    candidate: str = dspy.InputField(desc="the proposed answer; may be empty")
    correct_probability: float = dspy.OutputField(desc="from 0 to 1")
