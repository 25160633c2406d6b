"""GENREAD: the LM writes a background document from memory in place of retrieved ones, and reads it for the answer.

Yu et al., "Generate rather than Retrieve: Large Language Models are Strong Context Generators", ICLR 2023, zero-shot:
one document, written greedily. A closed-book row of Xin et al., "Chain-of-Rewrite", COLING 2025, Table 1.

question -> background document from memory -> answer
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import result
from programs.steps.settings import checked
from programs.steps.text import one_line
from retrieval import AnyRetriever, Passage, as_retriever, number
from signatures.answer import AnswerShortFromKnowledge, AnswerYesNoFromKnowledge
from signatures.write import WriteBackground

__all__ = ["GenRead"]


class GenRead(Method):
    """Write a background document for the question from memory, and answer from it.

    What a large LM writes about a question often holds the answer, and no corpus is needed.

    Per question:
        LM calls: 2.
        Searches: none.
        Depth: 2 LM calls.

    In the result:
        evidence: the document, with the id lm:background; nothing where it could not be parsed, and then the answer is
            from memory.

    Args:
        retriever: None; a retriever given here is never searched. The paper reads retrieved documents beside written
            ones only with a trained reader.
        style: Form of the answers: "short" for an entity, as in the paper, "yesno" for yes or no (StrategyQA).
    """

    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(self, retriever: AnyRetriever | None, *, style: Literal["short", "yesno"] = "short") -> None:
        super().__init__()
        self.retriever = None if retriever is None else as_retriever(retriever)
        self.write = dspy.Predict(WriteBackground)
        self.answer = dspy.Predict(AnswerYesNoFromKnowledge if style == "yesno" else AnswerShortFromKnowledge)

    def forward(self, question: str) -> dspy.Prediction:
        # Generate: p(d | q), one document (section 3.1).
        background = one_line(ask(self.write, question=question).background)
        evidence = [Passage("lm:background", background)] if background else []

        # Read: p(a | d, q).
        reply = ask(self.answer, knowledge=number(evidence), question=question)
        return result(answer=reply.answer, queries=[], passages=[], evidence=evidence)


if __name__ == "__main__":
    from programs.commands.method import main

    main(GenRead)
