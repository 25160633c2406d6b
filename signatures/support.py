"""Finding out how well passages support one candidate answer, and which of two candidates they support better."""

from typing import Literal

import dspy

__all__ = ["CompareSummaries", "SummarizeForCandidate", "SupportsCandidate"]


# SuRe (Kim et al. 2024), conditional summarization: the prompt shows all candidates and names one as the prediction.
class SummarizeForCandidate(dspy.Signature):
    """Write a summary of the numbered passages that supports the candidate as the answer to the question. Use what the
    passages say and nothing else. There is another candidate, its rival: say what speaks for this one."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    candidate: str = dspy.InputField(desc="the answer that the summary is to support")
    rival: str = dspy.InputField(desc="the other candidate")
    summary: str = dspy.OutputField(desc="a few factual sentences")


# SuRe, instance-wise validation.
class SupportsCandidate(dspy.Signature):
    """Decide whether the summary really supports the candidate as the answer to the question: whoever has read nothing
    but the summary would have to give this answer."""

    question: str = dspy.InputField()
    candidate: str = dspy.InputField()
    summary: str = dspy.InputField(desc="may be empty")
    supported: bool = dspy.OutputField()


# SuRe, pair-wise ranking.
class CompareSummaries(dspy.Signature):
    """Two summaries are each meant to answer the question. Decide which one is more relevant to it and tells more of
    what it asks for."""

    question: str = dspy.InputField()
    first: str = dspy.InputField(desc="may be empty")
    second: str = dspy.InputField(desc="may be empty")
    better: Literal["first", "second"] = dspy.OutputField()
