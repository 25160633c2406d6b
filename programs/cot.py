"""Chain-of-thought prompting: reasoning and then the answer, over retrieved passages or from memory.

The second baseline of Wang et al., "BlendFilter", EMNLP 2024, appendix C and Tables 1 to 4, there after Wei et al.,
"Chain-of-Thought Prompting Elicits Reasoning in Large Language Models", NeurIPS 2022. Zero-shot here, where the paper
shows three examples.

question -> k passages, unless closed book -> reasoning and answer
"""

from typing import Literal

import dspy

from programs.steps.ask import ask
from programs.steps.result import result, say
from programs.steps.side_by_side import in_thread
from retrieval import Retriever, number
from signatures.answer import AnswerShort, AnswerShortFromMemory, AnswerYesNo, AnswerYesNoFromMemory

__all__ = ["CoT"]


class CoT(dspy.Module):
    """Reason and answer over the passages that the question finds, or closed book.

    Per question: 1 LM call and 1 search, none closed book. An unparsable reply costs one call more, in which DSPy asks
    for JSON.

    The result has `reasoning`, which led to the answer, besides the common four.

    Args:
        retriever: Finds the passages; None for closed book, where the prompt has no passages in it and speaks of none.
        k: Passages to read. Paper: 5 (appendix D).
        style: Form of the answers: "short" for a short phrase (HotPotQA, 2WikiMultiHopQA), "yesno" for yes or no
            (StrategyQA).
    """

    def __init__(self, retriever: Retriever | None, *, k: int = 5, style: Literal["short", "yesno"] = "short") -> None:
        super().__init__()
        self.retriever = retriever
        self.k = k
        if retriever is None:
            self.answer = dspy.ChainOfThought(AnswerYesNoFromMemory if style == "yesno" else AnswerShortFromMemory)
        else:
            self.answer = dspy.ChainOfThought(AnswerYesNo if style == "yesno" else AnswerShort)

    def forward(self, question: str) -> dspy.Prediction:
        if self.retriever is None:
            reply = ask(self.answer, question=question)
            return result(answer=reply.answer, queries=[], passages=[], evidence=[], reasoning=say(reply.reasoning))
        found = self.retriever(question, self.k)
        reply = ask(self.answer, context=number(found), question=question)
        return result(
            answer=reply.answer, queries=[question], passages=found, evidence=found, reasoning=say(reply.reasoning)
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)


if __name__ == "__main__":
    from programs.commands.method import main

    main(CoT)
