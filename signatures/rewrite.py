"""Finding out what one document says about a question, from which it is rewritten."""

import dspy

__all__ = ["AnalyseDocument", "NameCandidate"]


# Chain-of-Rewrite, section 2.1, and the first prompt in appendix A.2. Its two paragraphs are two fields.
class AnalyseDocument(dspy.Signature):
    """Analyse step by step whether the document has information that answers the question. Then give the sentences of
    the document that the analysis rests on."""

    document: str = dspy.InputField()
    question: str = dspy.InputField()
    analysis: str = dspy.OutputField(desc="one paragraph")
    evidence: str = dspy.OutputField(desc="sentences of the document, word for word, one per line; may be empty")


# Chain-of-Rewrite, section 2.1, and the second prompt in appendix A.2.
class NameCandidate(dspy.Signature):
    """Going by the analysis, take from the document the entity that answers the question. Where the document has
    nothing that bears on it, the answer is: unknown"""

    question: str = dspy.InputField()
    document: str = dspy.InputField()
    analysis: str = dspy.InputField(desc="what the document says about the question; may be empty")
    candidate: str = dspy.OutputField(desc="the answer entity alone, or the word unknown")
