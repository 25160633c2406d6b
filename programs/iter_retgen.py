"""ITER-RETGEN: answer, search again with the answer in front of the question, answer anew over what that finds.

Shao et al., "Enhancing Retrieval-Augmented Large Language Models with Iterative Retrieval-Generation Synergy", Findings
of EMNLP 2023, as a baseline of Wang et al., "BlendFilter", EMNLP 2024, appendix C. From the papers' descriptions,
without training the retriever. Its first turn is BlendFilter's external augmentation and shares the code.

question -> k passages -> (reasoning and answer + question -> k passages) T - 1 times -> reasoning and answer
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask, chain_of_thought
from programs.steps.method import Method
from programs.steps.result import Reading, Turns, report_rounds, result
from programs.steps.search import search_with_drafts
from programs.steps.settings import Count, checked
from programs.steps.text import as_text
from retrieval import AnyRetriever, as_retriever, number, union
from signatures.answer import REASONING, AnswerShort, AnswerYesNo

__all__ = ["IterRetGen"]


class IterRetGen(Method):
    """Answer in turns, each over the passages that the last turn's answer and the question find.

    A first answer, even a wrong one, names things that the question does not. Searching with both finds what the
    question alone misses.

    Per question:
        LM calls: 1 per turn, which is 2.
        Searches: 1 per turn, which is 2.
        Depth: 1 LM call per turn.

    In the result:
        iterations: for each turn the ids of the passages `retrieved`, which are all `kept` and `shown` to the LM.
        reasoning: the reasoning that led to the last answer.
        evidence: what the last turn found.

    Args:
        retriever: Finds the passages. BlendFilter's comparison uses ColBERTv2, and BM25 in Table 4.
        k: Passages per turn, which replace those of the turn before. Paper: 5 (BlendFilter, appendix D); 3 to 8 in its
            Fig. 3.
        turns: How often to search and answer (T). Ours: 2, one turn more than retrieve-then-read. Where a reply cannot
            be parsed, the question alone is the next query.
        style: Form of the answers: "short" for a short phrase (HotPotQA, 2WikiMultiHopQA), "yesno" for yes or no
            (StrategyQA).
    """

    reads: ClassVar[dict[str, Reading]] = {"iterations": Turns()}

    @checked
    def __init__(
        self, retriever: AnyRetriever, *, k: Count = 5, turns: Count = 2, style: Literal["short", "yesno"] = "short"
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.turns = turns
        self.answer = chain_of_thought(AnswerYesNo if style == "yesno" else AnswerShort, REASONING)

    def forward(self, question: str) -> dspy.Prediction:
        # Generation-augmented retrieval: D_1 = R(q); after each y_t = M(D_t, q) but the last, D_t+1 = R(y_t || q).
        searches = search_with_drafts(self.retriever, self.answer, question, self.k, self.turns - 1)

        # Retrieval-augmented generation, last turn: y_T = M(D_T, q).
        evidence = searches[-1].found
        reply = ask(self.answer, context=number(evidence), question=question)
        return result(
            answer=reply.answer,
            queries=[search.query for search in searches],
            passages=union(*(search.found for search in searches)),
            evidence=evidence,
            iterations=report_rounds((search.found for search in searches), growing=False),
            reasoning=as_text(reply.reasoning),
        )


if __name__ == "__main__":
    from programs.commands.method import main

    main(IterRetGen)
