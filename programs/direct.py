"""Direct prompting: the answer alone, without reasoning, over retrieved passages or from memory.

The first baseline of Wang et al., "BlendFilter", EMNLP 2024, appendix C and Tables 1 to 4, after Brown et al.,
"Language Models are Few-Shot Learners", NeurIPS 2020. Zero-shot here; the paper shows three examples.

question -> k passages, unless closed book -> answer
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import result
from programs.steps.settings import Count, checked
from retrieval import AnyRetriever, as_retriever, number
from signatures.answer import (
    AnswerEntity,
    AnswerInThreeWords,
    AnswerInThreeWordsFromMemory,
    AnswerShortDirectly,
    AnswerShortFromMemory,
    AnswerYesNoDirectly,
    AnswerYesNoFromMemory,
)

__all__ = ["Direct"]

# By style: the prompt closed book, and over passages.
_PROMPTS = {
    "short": (AnswerShortFromMemory, AnswerShortDirectly),
    "yesno": (AnswerYesNoFromMemory, AnswerYesNoDirectly),
    "three-words": (AnswerInThreeWordsFromMemory, AnswerInThreeWords),
    "entity": (AnswerShortFromMemory, AnswerEntity),
}


class Direct(Method):
    """Answer without reasoning, over the passages that the question finds, or closed book.

    This is the simplest baseline: what a method gains, it gains over this.

    Per question:
        LM calls: 1.
        Searches: 1; none closed book.
        Depth: 1 LM call.

    Args:
        retriever: Finds the passages; None for closed book, where the prompt neither holds nor mentions passages.
        k: Passages to read. Paper: 5 (appendix D); 10 in QPaug (its section 4.1).
        style: Form of the answers: "short" for a short phrase (HotPotQA, 2WikiMultiHopQA), "yesno" for yes or no
            (StrategyQA), "three-words" for QPaug's prompts (its Figs 4 and 5), "entity" for Chain-of-Rewrite's (its
            appendix A.3; closed book, where that has none, the same as "short").
    """

    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self,
        retriever: AnyRetriever | None,
        *,
        k: Count = 5,
        style: Literal["short", "yesno", "three-words", "entity"] = "short",
    ) -> None:
        super().__init__()
        self.retriever = None if retriever is None else as_retriever(retriever)
        self.k = k
        closed_book, over_passages = _PROMPTS[style]
        self.answer = dspy.Predict(closed_book if retriever is None else over_passages)

    def forward(self, question: str) -> dspy.Prediction:
        # Closed book, the prompt has no field for passages.
        if self.retriever is None:
            reply = ask(self.answer, question=question)
            return result(answer=reply.answer, queries=[], passages=[], evidence=[])

        # Retrieve, then answer.
        found = self.retriever(question, self.k)
        reply = ask(self.answer, context=number(found), question=question)
        return result(answer=reply.answer, queries=[question], passages=found, evidence=found)


if __name__ == "__main__":
    from programs.commands.method import main

    main(Direct)
