"""Judging what was answered or said.

Within a method: the probability of an answer (ALLIES), an answer checked backwards (self-verification), candidates
compared by summaries in their favour (SuRe), claims checked against the passages that they were drawn from (MIGRES),
whether the evidence suffices (PAR²-RAG). In evaluation: a prediction beside the right answers, and what an LM says to
be missing beside what is (MIGRES).
"""

from typing import Literal

import dspy

from signatures.replies import Choice, Numbers, Probability, YesNo

__all__ = [
    "AlignMissing",
    "CheckClaims",
    "CheckConclusion",
    "ChooseCondition",
    "CompareSummaries",
    "JudgeAnswer",
    "JudgeEvidence",
    "RateAnswer",
    "RecoverCondition",
    "SummarizeForCandidate",
    "SupportsCandidate",
    "analysis_of",
]


# ALLIES (Sun et al. 2023), answer scoring, with the paper's bands.
class RateAnswer(dspy.Signature):
    """Estimate the probability that the proposed answer to the question is right, by the numbered passages, where there
    are any, and by your own reasoning. Up to 0.3, much speaks against it; up to 0.5, it is rather wrong, though nothing
    proves it; up to 0.7, it is rather right, though nothing proves it; above 0.7, much speaks for it. What does not
    answer the question has the probability 0."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    candidate: str = dspy.InputField(desc="the proposed answer; may be empty")
    correct_probability: Probability = dspy.OutputField(desc="from 0 to 1")


# Self-verification (Weng et al. 2023), true-false item verification, the form for questions that are no arithmetic. The
# paper rewrites question and answer in a completion of its own; here one typed reply carries the statement as well.
class CheckConclusion(dspy.Signature):
    """Rewrite the question and its proposed answer as one statement. Then check the statement as if you had not found
    the answer yourself: start from the answer, and see whether everything that the question says is true of it."""

    question: str = dspy.InputField()
    candidate: str = dspy.InputField(desc="the proposed answer")
    statement: str = dspy.OutputField(desc="a declarative sentence that has all of the question and the answer in it")
    correct: YesNo = dspy.OutputField(desc="yes if the statement is true, no if not")


# Self-verification, condition masking: which condition. In arithmetic the numbers are taken, without asking an LM.
class ChooseCondition(dspy.Signature):
    """Choose in the question the one condition that narrows the answer down most: a name, a date, a number or another
    fact that somebody who knew the answer could work out. Copy it from the question, letter by letter."""

    question: str = dspy.InputField()
    condition: str = dspy.OutputField(desc="one or a few words that stand in the question just like this")


# Self-verification, condition masking: predicting the condition from the rest of the question and the answer.
class RecoverCondition(dspy.Signature):
    """In the question something was replaced by X. Take the answer for given and find out what X must be."""

    question: str = dspy.InputField(desc="a question with X in it")
    candidate: str = dspy.InputField(desc="the answer to the question")
    condition: str = dspy.OutputField(desc="what X stands for, one or a few words")


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
    supported: YesNo = dspy.OutputField()


class Better(Choice, shows=Literal["first", "second"], aliases={"1": "first", "2": "second"}):
    """Which of two summaries is better."""


# SuRe, pair-wise ranking.
class CompareSummaries(dspy.Signature):
    """Two summaries are each meant to answer the question. Decide which one is more relevant to it and tells more of
    what it asks for."""

    question: str = dspy.InputField()
    first: str = dspy.InputField(desc="may be empty")
    second: str = dspy.InputField(desc="may be empty")
    better: Better = dspy.OutputField()


# MIGRES, section 3.2, leaf module: the entailment that the paper leaves to a model of its own, for an LM in its place.
class CheckClaims(dspy.Signature):
    """Each claim was drawn from one of the numbered passages to answer the question. Decide for each whether that
    passage, with its title, says or implies it. What the question takes for granted may be taken for granted; what only
    you or another passage know may not. Then give the numbers of the claims that hold."""

    context: str = dspy.InputField(desc="numbered passages, one per line")
    question: str = dspy.InputField(desc="one question or several")
    claims: str = dspy.InputField(desc="numbered claims, one per line, each behind the number of its passage")
    holding: Numbers = dspy.OutputField(desc="numbers of the claims that hold, such as [1, 4]; [] for none")


# MIGRES, Acc† in Table 3; its authors' evaluator asks for it in these terms.
class JudgeAnswer(dspy.Signature):
    """Decide whether the predicted answer to the question implies the right answer: whoever believes the prediction
    would have to agree to the right answer as well. Of several right answers, which are one per line, one is enough.
    Go by what is written here, not by what you believe to be true."""

    question: str = dspy.InputField()
    prediction: str = dspy.InputField(desc="the predicted answer")
    right: str = dspy.InputField(desc="the right answers, one per line")
    implied: YesNo = dspy.OutputField()


# PAR²-RAG (Li et al. 2026), evidence sufficiency control: stop, or what to search for next.
class JudgeEvidence(dspy.Signature):
    """Decide whether the numbered passages state all that the question's answer depends on, and whether the proposed
    answer follows from them. If they do not, write a query for one fact that is still missing: call people, works and
    places by their names, also by those that only the passages have."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    analysis: str = dspy.InputField(desc="what was concluded from the passages, and the proposed answer")
    sufficient: YesNo = dspy.OutputField(desc="yes if nothing is missing, no if another search is needed")
    query: str = dspy.OutputField(desc="what to search for next; empty if nothing is missing", default_factory=str)


def analysis_of(reasoning: str, answer: str) -> str:
    """What `JudgeEvidence` has in its field `analysis`.

    Args:
        reasoning: What led to the answer; may be empty.
        answer: The proposed answer; may be empty.
    """
    return f"{reasoning} Answer: {answer}".strip()


# MIGRES, section 2.1 and Table 14, verification of the alignment of missing information.
class AlignMissing(dspy.Signature):
    """Somebody said which information is missing. Decide whether that is what the questions ask for: whether at least
    one of them asks for the missing information or for a part of it."""

    missing: str = dspy.InputField(desc="the information that is said to be missing")
    questions: str = dspy.InputField(desc="numbered questions, one per line")
    explanation: str = dspy.OutputField(default_factory=str)
    aligned: YesNo = dspy.OutputField(desc="yes if a question asks for what is missing")
