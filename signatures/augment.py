"""Making a question say more of what has to be found out."""

import dspy

__all__ = ["PlanQuestion"]


# QPaug, section 3.2, Eq. 3, and the example of Table 8: the question with zero-shot chain of thought's request.
class PlanQuestion(dspy.Signature):
    """Think step by step about how the question can be answered, without answering it. Take it apart into simpler
    questions in the order in which they have to be settled, and say for each what has to be looked up: which people,
    works, places or dates, and which facts about them."""

    question: str = dspy.InputField()
    plan: str = dspy.OutputField(desc="numbered steps, each a simpler question and what to look up for it")
