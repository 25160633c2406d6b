"""Taking a question apart while it is being answered."""

import dspy

__all__ = ["AskFollowUp"]


# Self-Ask, as BlendFilter describes it in appendix C: is a follow-up question needed, and which.
class AskFollowUp(dspy.Signature):
    """Decide whether a follow-up question has to be answered before the question can be. The numbered lines are the
    passages found for earlier follow-up questions; a line that has such a question for its title is the answer given to
    it. If a fact is still missing, ask for that one fact in a question that can be understood by itself: name people,
    works and places instead of pointing back to them, and do not repeat an earlier question."""

    context: str = dspy.InputField(desc="numbered passages and answers, one per line; may be empty")
    question: str = dspy.InputField()
    needed: bool = dspy.OutputField(desc="True if a fact is still missing, False if the question can be answered now")
    follow_up: str = dspy.OutputField(desc="one simple question; empty if none is needed")
