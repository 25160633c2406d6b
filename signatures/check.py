"""Checking an answer backwards: taking it for given, and seeing whether the question agrees with it."""

import dspy

__all__ = ["CheckConclusion", "ChooseCondition", "RecoverCondition"]


# Self-verification (Weng et al. 2023), true-false item verification, the form for questions that are no arithmetic. The
# paper rewrites question and answer in a completion of its own; here one typed reply carries the statement as well.
class CheckConclusion(dspy.Signature):
    """Rewrite the question and its proposed answer as one statement. Then check the statement as if you had not found
    the answer yourself: start from the answer, and see whether everything that the question says is true of it."""

    question: str = dspy.InputField()
    candidate: str = dspy.InputField(desc="the proposed answer")
    statement: str = dspy.OutputField(desc="a declarative sentence that has all of the question and the answer in it")
    correct: bool = dspy.OutputField(desc="True if the statement is true, False if not")


# Self-verification, condition masking: which condition. In arithmetic the numbers are taken, without asking an LM.
class ChooseCondition(dspy.Signature):
    """Choose in the question the one condition that narrows the answer down most: a name, a date, a number or another
    fact that somebody who knew the answer could work out. Copy it from the question, letter by letter."""

    question: str = dspy.InputField()
    condition: str = dspy.OutputField(desc="one or a few words that stand in the question just like this")


# Self-verification, condition masking: predicting the condition from the rest of the question and the answer.
class RecoverCondition(dspy.Signature):
    """In the question something was replaced by X. Take the answer for given and find out what X must be."""

    question: str = dspy.InputField(desc="a question with X in it")
    candidate: str = dspy.InputField(desc="the answer to the question")
    condition: str = dspy.OutputField(desc="what X stands for, one or a few words")
