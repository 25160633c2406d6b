"""Answering a question.

Over passages with reasoning and without, from memory, from what the LM wrote, in the words of single papers, with
citations; then as a candidate: from one document, or two at once.
"""

import dspy

from signatures.replies import ShortAnswer, Statements, YesNo

__all__ = [
    "REASONING",
    "THREE_WORDS",
    "AnswerCiting",
    "AnswerCitingYesNo",
    "AnswerEntity",
    "AnswerInThreeWords",
    "AnswerInThreeWordsFromBoth",
    "AnswerInThreeWordsFromMemory",
    "AnswerShort",
    "AnswerShortDirectly",
    "AnswerShortFromKnowledge",
    "AnswerShortFromMemory",
    "AnswerYesNo",
    "AnswerYesNoDirectly",
    "AnswerYesNoFromKnowledge",
    "AnswerYesNoFromMemory",
    "NameAnswer",
    "NameAnswerInThreeWords",
    "NameAnswerOrUnanswerable",
    "ProposeTwoAnswers",
]

REASONING = "two or three sentences that name the people, works, places and dates that lead to the answer"
"""Description of the reasoning in front of an answer. BlendFilter and ITER-RETGEN search with it; CoT has it too."""
THREE_WORDS = "at most three words"
"""In the description of an answer: how long QPaug and SuRe let it be."""


# BlendFilter, appendix F, the answer prompts of HotPotQA and 2WikiMultiHopQA: reasoning first, then one or few words.
# The paper asks for the two in two completions; asked with dspy.ChainOfThought, one reply carries both.
class AnswerShort(dspy.Signature):
    """Answer the question. Reason step by step from the numbered passages; where they do not suffice or there are none,
    from what you know. Then give the answer alone, in one or a few words."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField(desc="one or a few words: a name, a date, a number, yes or no; no sentence")


# BlendFilter, appendix F, the answer prompt of StrategyQA: Yes or No and nothing else.
class AnswerYesNo(dspy.Signature):
    """Answer the question with yes or no. Reason step by step from the numbered passages; where they do not suffice or
    there are none, from what you know. Always decide for one of the two."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField(desc="a question to be answered with yes or no")
    answer: YesNo = dspy.OutputField(desc="yes or no")


# BlendFilter, appendix C, direct prompting with retrieval: no explanation and no reasoning.
class AnswerShortDirectly(dspy.Signature):
    """Answer the question from the numbered passages; where they do not suffice or there are none, from what you know.
    Give the answer alone, as short as it can be, without any explanation."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField(desc="one or a few words: a name, a date, a number, yes or no; no sentence")


# The same for StrategyQA.
class AnswerYesNoDirectly(dspy.Signature):
    """Answer the question with yes or no, from the numbered passages; where they do not suffice or there are none, from
    what you know. Always decide for one of the two, without any explanation."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField(desc="a question to be answered with yes or no")
    answer: YesNo = dspy.OutputField(desc="yes or no")


# BlendFilter, Tables 1 to 4, prompting without retrieval; with dspy.ChainOfThought the reply begins with the reasoning.
class AnswerShortFromMemory(dspy.Signature):
    """Answer the question from what you know. Give the answer as short as it can be."""

    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField(desc="one or a few words: a name, a date, a number, yes or no; no sentence")


# The same for StrategyQA.
class AnswerYesNoFromMemory(dspy.Signature):
    """Answer the question with yes or no, from what you know. Always decide for one of the two."""

    question: str = dspy.InputField(desc="a question to be answered with yes or no")
    answer: YesNo = dspy.OutputField(desc="yes or no")


# GENREAD (Yu et al. 2023), the second of its two zero-shot prompts.
class AnswerShortFromKnowledge(dspy.Signature):
    """Answer the question from what you wrote about it; where that does not suffice or there is nothing, from what you
    know. Give the answer alone, one entity and nothing else."""

    knowledge: str = dspy.InputField(desc="background that you wrote, numbered; may be empty")
    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField(desc="one or a few words: a name, a date, a number, yes or no; no sentence")


# The same for StrategyQA; the paper asks so whether a claim is true.
class AnswerYesNoFromKnowledge(dspy.Signature):
    """Decide from what you wrote about the question whether the answer to it is yes; where that does not suffice or
    there is nothing, from what you know. Always decide for one of the two."""

    knowledge: str = dspy.InputField(desc="background that you wrote, numbered; may be empty")
    question: str = dspy.InputField(desc="a question to be answered with yes or no")
    answer: YesNo = dspy.OutputField(desc="yes or no")


# QPaug, Fig. 4: the question alone.
class AnswerInThreeWordsFromMemory(dspy.Signature):
    """Answer the question in at most three words."""

    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField(desc=THREE_WORDS)


# QPaug, Fig. 5: the question with the retrieved passages alone.
class AnswerInThreeWords(dspy.Signature):
    """Answer the question with the help of the passages, in at most three words."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField(desc=THREE_WORDS)


# QPaug, section 3.3, Eq. 7, and Fig. 6: the generated passage is labelled as the LM's own.
class AnswerInThreeWordsFromBoth(dspy.Signature):
    """Answer the question with the help of the retrieved passages and of your own knowledge, in at most three words."""

    context: str = dspy.InputField(desc="numbered passages that were retrieved, one per line; may be empty")
    knowledge: str = dspy.InputField(desc="your knowledge: what you wrote about the question; not retrieved")
    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField(desc=THREE_WORDS)


# Chain-of-Rewrite, appendix A.3.
class AnswerEntity(dspy.Signature):
    """Take from the passages the one entity that answers the question. Give the entity alone."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField(desc="the answer entity and nothing else")


# ALCE's VANILLA (Gao et al. 2023), as MIGRES compares with it (section 4.2): sentences with citations, and for exact
# match the short answer behind them.
class AnswerCiting(dspy.Signature):
    """Answer the question from the numbered passages, in a few accurate and concise sentences. Give with each sentence
    the numbers of the passages that support it: at least one, at most three, and no more of them than it takes. Then
    give the answer alone, as short as it can be; where the passages do not have it or there are none, from what you
    know."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    statements: Statements = dspy.OutputField(
        desc="the sentences with their citations; [] without passages", default_factory=list
    )
    answer: ShortAnswer = dspy.OutputField(desc="one or a few words: a name, a date, a number, yes or no; no sentence")


# The same for StrategyQA.
class AnswerCitingYesNo(dspy.Signature):
    """Reason from the numbered passages whether yes or no is right, in a few accurate and concise sentences. Give with
    each sentence the numbers of the passages that support it: at least one, at most three, and no more of them than it
    takes. Then decide for yes or no; where the passages do not tell or there are none, from what you know."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField(desc="a question to be answered with yes or no")
    statements: Statements = dspy.OutputField(
        desc="the sentences with their citations; [] without passages", default_factory=list
    )
    answer: YesNo = dspy.OutputField(desc="yes or no")


# Lazaridou et al. 2022: evidence, question, answer; the paper shows examples of that and says nothing more.
class NameAnswer(dspy.Signature):
    """Answer the question from the document. Always give an answer, and give it alone, as short as it can be."""

    document: str = dspy.InputField()
    question: str = dspy.InputField()
    candidate: ShortAnswer = dspy.OutputField(
        desc="one or a few words: a name, a date, a number, yes or no; no sentence"
    )


# The same with the limit of QPaug's prompts (Figs 4 to 6), for its Table 2.
NameAnswerInThreeWords = NameAnswer.with_updated_fields("candidate", desc=THREE_WORDS)


# DAS (Cho et al. 2023), its instruction that lets the LM turn a document down.
class NameAnswerOrUnanswerable(dspy.Signature):
    """Answer the question from the document and from nothing else. Give the answer alone, as short as it can be. If the
    document does not have it, the answer is: unanswerable"""

    document: str = dspy.InputField()
    question: str = dspy.InputField()
    candidate: ShortAnswer = dspy.OutputField(desc="one or a few words, no sentence; or the word unanswerable")


# SuRe (Kim et al. 2024), candidate generation: two candidates of at most three words each, in one completion.
class ProposeTwoAnswers(dspy.Signature):
    """Read the numbered passages and propose two candidates for the answer to the question: the one that you take to be
    right, and another one that is not the same in other words. Give each alone, in at most three words."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    answer: ShortAnswer = dspy.OutputField(desc=f"the likeliest candidate, {THREE_WORDS}")
    alternative: ShortAnswer = dspy.OutputField(desc=f"another entity, date or number that it could be, {THREE_WORDS}")
