"""ITER-RETGEN: answer, search again with the answer in front of the question, answer anew over what that finds.

Shao et al., "Enhancing Retrieval-Augmented Large Language Models with Iterative Retrieval-Generation Synergy", Findings
of EMNLP 2023, as Wang et al., "BlendFilter", EMNLP 2024, appendix C, take it up: from the papers' descriptions, without
training the retriever. BlendFilter's external augmentation is its first turn and shares the code.

question -> k passages -> (reasoning and answer + question -> k passages) T - 1 times -> reasoning and answer
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.result import Lists, Reading, result, say
from programs.steps.search import external_searches
from programs.steps.side_by_side import in_thread
from retrieval import Retriever, UsageError, number, union
from signatures.answer import AnswerShort, AnswerYesNo

__all__ = ["IterRetGen"]


class IterRetGen(dspy.Module):
    """Answer in turns, each over the passages that the last turn's answer and the question find.

    Per question: T LM calls and T searches, one after the other (T is `turns`). An unparsable reply costs one call
    more, in which DSPy asks for JSON; an answer that is lost so leaves the question as the next query.

    The result has these fields besides the common four: `found`, the passage ids of each turn; `reasoning`, which led
    to the last answer. `evidence` is what the last turn found.

    Args:
        retriever: Finds the passages. BlendFilter's comparison uses ColBERTv2, and BM25 in Table 4.
        k: Passages per turn, which replace those of the turn before. Paper: 5 (BlendFilter, appendix D); 3 to 8 in its
            Fig. 3.
        turns: How often to search and answer (T); 2, one more than retrieve-then-read, is the default.
        style: Form of the answers: "short" for a short phrase (HotPotQA, 2WikiMultiHopQA), "yesno" for yes or no
            (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"found": Lists()}

    def __init__(
        self, retriever: Retriever, *, k: int = 5, turns: int = 2, style: Literal["short", "yesno"] = "short"
    ) -> None:
        super().__init__()
        if turns < 1:
            raise UsageError(f"turns must be at least 1, not {turns}")
        self.retriever = retriever
        self.k = k
        self.turns = turns
        self.answer = dspy.ChainOfThought(AnswerYesNo if style == "yesno" else AnswerShort)

    def forward(self, question: str) -> dspy.Prediction:
        # Generation-augmented retrieval: D_1 = R(q), and after each y_t = M(D_t, q) but the last D_t+1 = R(y_t || q).
        searches = external_searches(self.retriever, self.answer, question, self.k, self.turns - 1)

        # Retrieval-augmented generation, last turn: y_T = M(D_T, q).
        evidence = searches[-1].found
        reply = ask(self.answer, context=number(evidence), question=question)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=evidence,
            found=[[passage.id for passage in search.found] for search in searches],
            reasoning=say(reply.reasoning),
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)


if __name__ == "__main__":
    from programs.commands.method import main

    main(IterRetGen)
