"""Answering a question over passages, in the answer styles of the data sets."""

import dspy

__all__ = ["AnswerShort", "AnswerYesNo"]


# BlendFilter, appendix F, the answer prompts of HotPotQA and 2WikiMultiHopQA: reasoning first, then one or few words.
# The paper asks for the two in two completions; asked with dspy.ChainOfThought, one reply carries both.
class AnswerShort(dspy.Signature):
    """Answer the question. Reason from the numbered passages and say which facts you use; where they do not suffice or
    there are none, fall back on what you know. Then give the answer alone, as short as it can be."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField()
    answer: str = dspy.OutputField(desc="one or a few words: a name, a date, a number, yes or no; no sentence")


# BlendFilter, appendix F, the answer prompt of StrategyQA: Yes or No and nothing else.
class AnswerYesNo(dspy.Signature):
    """Decide whether the answer to the question is yes. Reason from the numbered passages and say which facts you use;
    where they do not suffice or there are none, fall back on what you know. Always decide for one of the two."""

    context: str = dspy.InputField(desc="numbered passages, one per line; may be empty")
    question: str = dspy.InputField(desc="a question to be answered with yes or no")
    answer: bool = dspy.OutputField(desc="True for yes, False for no")
