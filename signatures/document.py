"""Writing a document towards a question from passages and from what one knows."""

import dspy

__all__ = ["UpdateDocument", "WriteDocument"]


# ITRG (Feng et al. 2023), retrieval augmented generation with the strategy refresh.
class WriteDocument(dspy.Signature):
    """Write a document from which the question can be answered. Take from the numbered passages what helps, name the
    people, works, places and dates that they name, and add what you know where they do not suffice."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    document: str = dspy.OutputField(desc="factual prose, up to 150 words")


# The same with the strategy refine.
class UpdateDocument(dspy.Signature):
    """Improve the draft of a document from which the question is to be answered. Keep what is right and helps, correct
    and add to it from the new numbered passages, naming the people, works, places and dates that they name, and add
    what you know where they do not suffice. Where there is no draft yet, write the document."""

    draft: str = dspy.InputField(desc="the document as it is; may be empty")
    context: str = dspy.InputField(desc="new numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    document: str = dspy.OutputField(desc="factual prose, up to 150 words")
