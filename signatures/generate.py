"""Text that an LM writes from its own knowledge."""

import dspy

__all__ = ["WriteBackground", "WriteKnowledgeOrNone", "WritePassage", "WritePassageOrNone"]


# GENREAD (Yu et al. 2023), the first of its two zero-shot prompts.
class WriteBackground(dspy.Signature):
    """Write a background document, as an encyclopaedia would have it, from which the question can be answered."""

    question: str = dspy.InputField()
    background: str = dspy.OutputField(desc="factual prose that names people, places, works and dates; up to 200 words")


# BlendFilter, section 3.2, internal knowledge augmentation, and its prompt in appendix F.
class WritePassage(dspy.Signature):
    """Write down, as a short encyclopaedia passage, everything you know that helps to answer the question."""

    question: str = dspy.InputField()
    passage: str = dspy.OutputField(desc="a few factual sentences that name people, places, works and dates")


# QPaug, section 3.3, Eq. 6, and its prompt in Fig. 7. The question is the augmented one. The paper's prompt also asks
# for [DONE] behind the passage; here the end of the field says that.
class WritePassageOrNone(dspy.Signature):
    """You are an expert on the subject of the question. Write a passage from which it can be answered, using facts that
    you know and nothing else. Where you do not know the facts, do not make any up: write [NONE] in place of a passage.
    """

    question: str = dspy.InputField(desc="a question, and possibly a plan for answering it")
    passage: str = dspy.OutputField(desc="a few factual sentences, or [NONE]")


# MIGRES, section 3.2, LLM knowledge prompting, and its prompt in Table 15. The paper has the LM decline in words of its
# own where it knows nothing (section 4.5).
class WriteKnowledgeOrNone(dspy.Signature):
    """Write down what you know that bears on the questions. Do not make anything up: if you know nothing about any of
    them, write [NONE]."""

    questions: str = dspy.InputField(desc="one question or several")
    knowledge: str = dspy.OutputField(desc="a few factual sentences, or [NONE]")
