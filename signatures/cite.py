"""Answering a question in sentences that cite numbered passages, at once or one after the other."""

import dspy

from signatures.extract import Statement

__all__ = ["AnswerCiting", "AnswerCitingYesNo", "AskForEvidence", "WriteNextSentence"]


# ALCE's VANILLA (Gao et al. 2023), as MIGRES compares with it (section 4.2): sentences with citations, and for exact
# match the short answer behind them.
class AnswerCiting(dspy.Signature):
    """Answer the question from the numbered passages, in a few accurate and concise sentences. Give with each sentence
    the numbers of the passages that support it: at least one, at most three, and no more of them than it takes. Then
    give the answer alone, as short as it can be; where the passages do not have it or there are none, from what you
    know."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    statements: list[Statement] = dspy.OutputField(desc="the sentences with their citations; [] without passages")
    answer: str = dspy.OutputField(desc="one or a few words: a name, a date, a number, yes or no; no sentence")


# The same for StrategyQA.
class AnswerCitingYesNo(dspy.Signature):
    """Reason from the numbered passages whether the answer to the question is yes, in a few accurate and concise
    sentences. Give with each sentence the numbers of the passages that support it: at least one, at most three, and no
    more of them than it takes. Then decide for yes or no; where the passages do not tell or there are none, from what
    you know."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField(desc="a question to be answered with yes or no")
    statements: list[Statement] = dspy.OutputField(desc="the sentences with their citations; [] without passages")
    answer: bool = dspy.OutputField(desc="True for yes, False for no")


# VTG (Sun et al. 2024): the next claim with its citations, over the documents in memory.
class WriteNextSentence(dspy.Signature):
    """A text that answers the question is being written, sentence by sentence. Write the one sentence that comes next,
    so that it adds a fact that the answer needs, and give the numbers of the passages that support it. If the text
    answers the question, write nothing."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    history: str = dspy.InputField(desc="the text so far, one sentence per line; may be empty")
    rejected_history: str = dspy.InputField(
        desc="sentences that were left out for want of evidence, one per line, not to be written again; may be empty"
    )
    statements: list[Statement] = dspy.OutputField(desc="the next sentence alone; [] if the text is finished")


# VTG, evidence finder: diverse queries for a claim that no document in memory supports.
class AskForEvidence(dspy.Signature):
    """The statement was written to help to answer the question, and needs evidence. Write up to three queries, each
    different from the others, that would find passages which confirm or correct it: call people, works and places by
    their names, and ask for one fact each."""

    question: str = dspy.InputField()
    statement: str = dspy.InputField(desc="what needs evidence")
    queries: list[str] = dspy.OutputField(desc="up to three queries")
