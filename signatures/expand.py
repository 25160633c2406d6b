"""Asking further questions around a question."""

import dspy

__all__ = ["ListSubQuestions"]


# ALLIES (Sun et al. 2023), beam expansion: with what was asked and found so far, or without either.
class ListSubQuestions(dspy.Signature):
    """List questions whose answers would help to answer the question, the most important first. Make them differ from
    each other, so that each is about another side of it, and from the queries that were sent before. Go by what the
    numbered passages say already, and call people, works and places by their names."""

    question: str = dspy.InputField()
    history: str = dspy.InputField(desc="queries sent before, one per line; may be empty")
    context: str = dspy.InputField(desc="numbered passages that were found, one per line; may be empty")
    queries: list[str] = dspy.OutputField(desc="two or three questions that can each be understood by themselves")
