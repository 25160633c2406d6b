"""Making a passage shorter, towards a question."""

import dspy

__all__ = ["ExtractSnippet", "SummarizePassage"]


# ALCE's SUMM, which MIGRES compares its sentence filter with (Tables 3, 5 and 16).
class SummarizePassage(dspy.Signature):
    """Summarize the passage in at most 50 words with a view to the question, and keep the dates, numbers and names that
    matter. If the passage has nothing to do with the question, the summary is: irrelevant"""

    passage: str = dspy.InputField()
    question: str = dspy.InputField()
    summary: str = dspy.OutputField(desc="at most 50 words, or the word irrelevant")


# ALCE's SNIPPET, likewise.
class ExtractSnippet(dspy.Signature):
    """Take from the passage a span that helps to answer the question, and put names in place of the pronouns in it, so
    that it can be understood by itself. If the passage is no help, the snippet is: irrelevant"""

    passage: str = dspy.InputField()
    question: str = dspy.InputField()
    snippet: str = dspy.OutputField(desc="a span of the passage, or the word irrelevant")
