"""GENREAD: a background document written from memory takes the place of retrieved ones, and is read for the answer.

Yu et al., "Generate rather than Retrieve: Large Language Models are Strong Context Generators", ICLR 2023, zero-shot:
one document, written greedily. It is a closed-book row of Xin et al., "Chain-of-Rewrite", COLING 2025, Table 1.

question -> background document from memory -> answer
"""

from typing import Literal

import dspy

from programs.steps.ask import ask
from programs.steps.result import result
from programs.steps.side_by_side import in_thread
from programs.steps.text import line
from retrieval import Passage, Retriever, number
from signatures.answer import AnswerShortFromKnowledge, AnswerYesNoFromKnowledge
from signatures.write import WriteBackground

__all__ = ["GenRead"]


class GenRead(dspy.Module):
    """Write a background document for the question from memory, and answer from it.

    Per question: 2 LM calls, one after the other, and no search. An unparsable reply costs one call more, in which DSPy
    asks for JSON; a document that is lost so leaves the question to be answered from memory.

    In `evidence` the document has the id lm:background.

    Args:
        retriever: None; whatever is given here is never searched. The paper reads retrieved documents beside written
            ones only with a trained reader.
        style: Form of the answers: "short" for an entity, as in the paper, "yesno" for yes or no (StrategyQA).
    """

    def __init__(self, retriever: Retriever | None, *, style: Literal["short", "yesno"] = "short") -> None:
        super().__init__()
        self.retriever = retriever
        self.write = dspy.Predict(WriteBackground)
        self.answer = dspy.Predict(AnswerYesNoFromKnowledge if style == "yesno" else AnswerShortFromKnowledge)

    def forward(self, question: str) -> dspy.Prediction:
        # Generate: p(d | q), one document (section 3.1).
        background = line(ask(self.write, question=question).background)
        evidence = [Passage("lm:background", background)] if background else []

        # Read: p(a | d, q).
        reply = ask(self.answer, knowledge=number(evidence), question=question)
        return result(answer=reply.answer, queries=[], passages=[], evidence=evidence)

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)


if __name__ == "__main__":
    from programs.commands.method import main

    main(GenRead)
