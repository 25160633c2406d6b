"""Answering a question from one document by itself, which others may answer better."""

import dspy

__all__ = ["NameAnswer", "NameAnswerOrUnanswerable"]


# Lazaridou et al. 2022: evidence, question, answer; the paper shows examples of that and says nothing more.
class NameAnswer(dspy.Signature):
    """Answer the question from the document. Always give an answer, and give it alone, as short as it can be."""

    document: str = dspy.InputField()
    question: str = dspy.InputField()
    candidate: str = dspy.OutputField(desc="one or a few words: a name, a date, a number, yes or no; no sentence")


# DAS (Cho et al. 2023), its instruction that lets the LM turn a document down.
class NameAnswerOrUnanswerable(dspy.Signature):
    """Answer the question from the document and from nothing else. Give the answer alone, as short as it can be. If the
    document does not have it, the answer is: unanswerable"""

    document: str = dspy.InputField()
    question: str = dspy.InputField()
    candidate: str = dspy.OutputField(desc="one or a few words, no sentence; or the word unanswerable")
