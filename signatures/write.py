"""Writing text that is searched with or read later.

From memory: background, a passage, knowledge, with or without a way to decline. From passages: a document, and the next
sentence of a text with citations or of a chain of thought.
"""

import dspy

from signatures.replies import Statements

__all__ = [
    "UpdateDocument",
    "WriteBackground",
    "WriteDocument",
    "WriteKnowledgeOrNone",
    "WriteNextSentence",
    "WriteNextThought",
    "WritePassage",
    "WritePassageOrNone",
]


# GENREAD (Yu et al. 2023), the first of its two zero-shot prompts.
class WriteBackground(dspy.Signature):
    """Write a background document, as an encyclopaedia would have it, from which the question can be answered."""

    question: str = dspy.InputField()
    background: str = dspy.OutputField(desc="factual prose that names people, places, works and dates; up to 200 words")


# BlendFilter, section 3.2, internal knowledge augmentation, and its prompt in appendix F.
class WritePassage(dspy.Signature):
    """Draw on your own knowledge and write a passage that answers the question."""

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
    statements: Statements = dspy.OutputField(desc="the next sentence alone; [] if the text is finished")


# IRCoT (Trivedi et al. 2023), the reason step. The paper shows examples in place of an instruction; they end with the
# words "answer is".
class WriteNextThought(dspy.Signature):
    """Work out the answer to the question one sentence at a time, from the numbered passages and, where they do not
    suffice yet, from what you know. Go on from the reasoning so far with one more sentence: state the one fact that
    comes next, and call people, works, places and dates by their names. Once the answer follows, the sentence is: So
    the answer is, with the answer behind it."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    history: str = dspy.InputField(desc="the reasoning so far, one sentence per line; may be empty")
    sentence: str = dspy.OutputField(desc="the one sentence that comes next, and no other")
