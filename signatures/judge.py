"""Judging an answer by one that is known to be right."""

import dspy

__all__ = ["JudgeAnswer"]


# MIGRES, Acc† in Table 3; its authors' evaluator asks for it in these terms.
class JudgeAnswer(dspy.Signature):
    """Decide whether the predicted answer to the question implies the right answer: whoever believes the prediction
    would have to agree to the right answer as well. Of several right answers, which are one per line, one is enough.
    Go by what is written here, not by what you believe to be true."""

    question: str = dspy.InputField()
    prediction: str = dspy.InputField(desc="the predicted answer")
    right: str = dspy.InputField(desc="the right answers, one per line")
    implied: bool = dspy.OutputField()
