"""UPR: passages reranked by how likely each makes the question; the best are read.

Sachan et al., "Improving Passage Retrieval with Zero-Shot Question Generation", EMNLP 2022; with an answering call
behind it a row of Xin et al., "Chain-of-Rewrite", COLING 2025, Table 1.

question -> m passages -> rank by log p(question | passage) -> k passages -> answer
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.ask import ask
from programs.steps.method import Method
from programs.steps.result import Ranking, Reading, result
from programs.steps.settings import Count, checked
from retrieval import AnyRetriever, as_retriever, number
from signatures.answer import AnswerEntity, AnswerShortDirectly, AnswerYesNoDirectly

__all__ = ["UPR"]

_PROMPTS = {"short": AnswerShortDirectly, "yesno": AnswerYesNoDirectly, "entity": AnswerEntity}


class UPR(Method):
    """Search deep, rerank the passages by the likelihood of the question, and answer over the best.

    A passage that answers a question makes the question likely: a language model can rank passages by that, without
    training.

    Per question:
        LM calls: 1, and m passages scored by the scorer's model.
        Searches: 1.
        Depth: 1 LM call.

    In the result:
        ranked: ids of all passages, highest score first.
        scored_by: kind of the scorer: "upr", "lexical" or "cross-encoder".
        evidence: the k best, with the scorer's scores.

    The default of `upr` compares words and needs no model, so the method runs everywhere. It is the paper's only with a
    language model, which needs the extra `dense`.

    Args:
        retriever: Finds the passages. Chain-of-Rewrite's comparison uses BM25.
        m: Passages to rerank. Paper: 1000; 100 in Chain-of-Rewrite (its section 3.1).
        k: Passages to read. Chain-of-Rewrite: 5 (its section 3.1).
        upr: Scorer of the passages: upr:MODEL for the mean log-probability of the question's tokens by a local language
            model, as in the paper (upr:bigscience/T0_3B), or in its place lexical (compares words) or
            cross-encoder:MODEL.
        style: Form of the answers: "short" for a short phrase, "yesno" for yes or no (StrategyQA), "entity" for
            Chain-of-Rewrite's prompt (its appendix A.3), with which its tables are read.
    """

    reads: ClassVar[dict[str, Reading]] = {"ranked": Ranking()}
    writes: ClassVar[str | None] = "answer"

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        m: Count = 100,
        k: Count = 5,
        upr: str = "lexical",
        style: Literal["short", "yesno", "entity"] = "short",
    ) -> None:
        super().__init__()
        from retrieval.ranking.scorers import load_scorer

        self.retriever = as_retriever(retriever)
        self.m = m
        self.k = k
        self.scored_by = upr.partition(":")[0]
        self.scorer = load_scorer(upr)
        self.answer = dspy.Predict(_PROMPTS[style])

    def forward(self, question: str) -> dspy.Prediction:
        from retrieval.ranking.rerank import rerank

        # Retrieval, and reranking by (1 / |q|) log p(q | z) for each passage z.
        found = self.retriever(question, self.m)
        ranked = rerank(question, found, self.scorer)

        # Reading.
        evidence = ranked[: self.k]
        reply = ask(self.answer, context=number(evidence), question=question)
        return result(
            answer=reply.answer,
            queries=[question],
            passages=found,
            evidence=evidence,
            ranked=[passage.id for passage in ranked],
            scored_by=self.scored_by,
        )


if __name__ == "__main__":
    from programs.commands.method import main

    main(UPR)
