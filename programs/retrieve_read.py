"""Retrieve and read with a sentence filter: MIGRES's knowledge filter in front of one answering call.

VANILLA-s of Wang et al., "LLMs Know What They Need: Leveraging a Missing Information Guided Framework to Empower
Retrieval-Augmented Generation", 2024; sections 3.2, 4.2 and 4.4, Table 3. The answering call is the same as VANILLA's
(`programs.alce`), so that the two rows differ in the filter alone.

question -> m passages -> those relevant, cut down to their relevant sentences -> k best -> answer with citations
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.citations import answer_citing, report_fact
from programs.steps.filtering import threshold_for
from programs.steps.method import Method
from programs.steps.result import Reading, Statements, result
from programs.steps.settings import Count, checked
from retrieval import AnyRetriever, as_retriever
from signatures.answer import AnswerCiting, AnswerCitingYesNo

__all__ = ["RetrieveRead"]


class RetrieveRead(Method):
    """Answer with citations over the relevant sentences of the passages that the question finds.

    It shows what the sentence filter of MIGRES gives by itself: fewer words to read, and less that distracts.

    Per question:
        LM calls: 1.
        Searches: 1.
        Depth: 1 LM call.

    In the result:
        known_facts: the sentences of the reply, each with its text (`fact`) and the ids of the `passages` that it
            cites, unchecked.
        evidence: the passages that pass the filter, cut down to their relevant sentences; where none passes, the answer
            is from what the LM knows.

    The default of `reranker` compares words and needs no model. The paper's kind needs the extra `dense`.

    Args:
        retriever: Finds the passages. Paper: BM25 with k1 0.9 and b 0.4 over Wikipedia of December 2017, 2018 or 2021.
        preset: Kind of questions, which sets the threshold: "multihop", "odqa" or "commonsense". With "commonsense" the
            answers are yes or no.
        threshold: Least score of a passage and of a sentence (the paper's delta), on the reranker's scale; by default
            the preset's: 3.0, 5.0 and 0.0 for a cross-encoder (Table 11), 0.0, 2.0 and -1.5 for lexical (by the rule of
            appendix B); upr has none.
        m: Passages to search for. Paper: 50 (Table 11).
        k: Passages to read, at most. Paper: 5 (Table 11).
        reranker: Scores passages and sentences: lexical (compares words, on a scale like that of logits),
            cross-encoder:MODEL or upr:MODEL. Paper: cross-encoder:BAAI/bge-reranker-base (4.1).
    """

    reads: ClassVar[dict[str, Reading]] = {"known_facts": Statements()}

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        preset: Literal["multihop", "odqa", "commonsense"] = "multihop",
        threshold: float | None = None,
        m: Count = 50,
        k: Count = 5,
        reranker: str = "lexical",
    ) -> None:
        super().__init__()
        from retrieval.ranking.scorers import load_scorer

        self.retriever = as_retriever(retriever)
        self.m = m
        self.k = k
        self.scorer = load_scorer(reranker)
        self.threshold = threshold_for(reranker, preset) if threshold is None else threshold
        self.answer = dspy.Predict(AnswerCitingYesNo if preset == "commonsense" else AnswerCiting)

    def forward(self, question: str) -> dspy.Prediction:
        from retrieval.ranking.filter import filter_sentences

        # Retriever and knowledge filter (3.2), at passage and at sentence level.
        found = self.retriever(question, self.m)
        evidence = filter_sentences(question, found, self.scorer, self.threshold)[: self.k]

        # One answering call (4.2).
        reply = answer_citing(self.answer, evidence, question)
        return result(
            answer=reply.answer,
            queries=[question],
            passages=found,
            evidence=evidence,
            known_facts=[report_fact(fact) for fact in reply.facts],
        )


if __name__ == "__main__":
    from programs.commands.method import main

    main(RetrieveRead)
