"""Chain-of-thought prompting: reasoning and then the answer, over retrieved passages or from memory.

The second baseline of Wang et al., "BlendFilter", EMNLP 2024, appendix C and Tables 1 to 4, after Wei et al.,
"Chain-of-Thought Prompting Elicits Reasoning in Large Language Models", NeurIPS 2022. Zero-shot here; the paper shows
three examples.

question -> k passages, unless closed book -> reasoning and answer
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask, chain_of_thought
from programs.steps.method import Method
from programs.steps.result import result
from programs.steps.settings import Count, checked
from programs.steps.text import as_text
from retrieval import AnyRetriever, as_retriever, number
from signatures.answer import (
    REASONING,
    AnswerInThreeWords,
    AnswerInThreeWordsFromMemory,
    AnswerShort,
    AnswerShortFromMemory,
    AnswerYesNo,
    AnswerYesNoFromMemory,
)

__all__ = ["CoT"]

# By style: the prompt closed book, and over passages.
_PROMPTS = {
    "short": (AnswerShortFromMemory, AnswerShort),
    "yesno": (AnswerYesNoFromMemory, AnswerYesNo),
    "three-words": (AnswerInThreeWordsFromMemory, AnswerInThreeWords),
}


class CoT(Method):
    """Reason and answer over the passages that the question finds, or closed book.

    This is the baseline for methods that search more cleverly: one search, one call.

    Per question:
        LM calls: 1.
        Searches: 1; none closed book.
        Depth: 1 LM call.

    In the result:
        reasoning: the reasoning that led to the answer.

    Args:
        retriever: Finds the passages; None for closed book, where the prompt neither holds nor mentions passages.
        k: Passages to read. Paper: 5 (appendix D).
        style: Form of the answers: "short" for a short phrase (HotPotQA, 2WikiMultiHopQA), "yesno" for yes or no
            (StrategyQA), "three-words" with the limit of QPaug's prompts (its Table 2).
    """

    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self, retriever: AnyRetriever | None, *, k: Count = 5, style: Literal["short", "yesno", "three-words"] = "short"
    ) -> None:
        super().__init__()
        self.retriever = None if retriever is None else as_retriever(retriever)
        self.k = k
        closed_book, over_passages = _PROMPTS[style]
        self.answer = chain_of_thought(closed_book if retriever is None else over_passages, REASONING)

    def forward(self, question: str) -> dspy.Prediction:
        # Closed book, the prompt has no field for passages.
        if self.retriever is None:
            reply = ask(self.answer, question=question)
            return result(answer=reply.answer, queries=[], passages=[], evidence=[], reasoning=as_text(reply.reasoning))

        # Retrieve, then reason and answer.
        found = self.retriever(question, self.k)
        reply = ask(self.answer, context=number(found), question=question)
        return result(
            answer=reply.answer, queries=[question], passages=found, evidence=found, reasoning=as_text(reply.reasoning)
        )


if __name__ == "__main__":
    from programs.commands.method import main

    main(CoT)
