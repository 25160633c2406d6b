"""Asking for the information that is still missing."""

import dspy

__all__ = ["AskForMissing"]


# MIGRES, section 3.2, query generator, and its prompt in Table 17.
class AskForMissing(dspy.Signature):
    """Write at most three queries that ask for the missing information, so that the question can be answered. If it
    takes several steps to find it, break it down into simple queries that each ask for one fact. Call people, works and
    places by the names that the known facts give them. Ask for nothing that is known, and ask differently from the
    question and from every query that was sent before."""

    question: str = dspy.InputField()
    history: str = dspy.InputField(desc="queries sent before, one per line")
    facts: str = dspy.InputField(desc="known facts, numbered, one per line; may be empty")
    missing: str = dspy.InputField(desc="the missing information; may be empty")
    queries: list[str] = dspy.OutputField(desc="up to three new queries")
