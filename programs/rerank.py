"""Rerank: an answer from each passage by itself, of which the most probable is taken.

Lazaridou et al., "Internet-augmented language models through few-shot prompting for open-domain question answering",
2022; a row of Kim, Park and Baek, "QPaug", Findings of EMNLP 2024, Table 2. Zero-shot here, with one answer per
passage; the paper samples four.

question -> k passages -> answer and its probability, each -> the best by p(question, answer | passage)
"""

from typing import Literal

import dspy

from programs.steps.candidates import PassageReader
from programs.steps.settings import Count, checked
from retrieval import AnyRetriever
from signatures.answer import NameAnswer, NameAnswerInThreeWords

__all__ = ["Rerank"]


class Rerank(PassageReader):
    """Answer from each passage by itself, and take the answer that question and answer are most probable with.

    An LM that reads one passage at a time cannot mix passages up, and its own probabilities say which answer fits best.
    The score of an answer is p(answer | question, passage) times the share of the passage in the question: the softmax
    over the passages of log p(question | passage). Both are taken per token. The shares need a model (upr:MODEL);
    without one they are all the same.

    Per question:
        LM calls: 1 per passage, k at most. An LM that offers log-probabilities and then refuses them is asked twice.
        Searches: 1.
        Depth: 1 LM call.

    In the result:
        ranked: passage ids, highest score first.
        candidates: by passage id, the answer in the passage; empty where there is none.
        probabilities: by passage id, the probability of that answer.
        shares: by passage id, the share of the passage in the question.
        measured_by: how often a probability came from log-probabilities ("logprobs"), from a number that the LM gave
            ("stated"), and from neither ("binary"), which counts as 1 for an answer but ranks it behind the others.
        scored_by: kind of the scorer: "none" or "upr".
        evidence: the passage that the answer comes from; nothing where there is no answer.

    Args:
        retriever: Finds the passages. QPaug's comparison uses Contriever.
        k: Passages to read. Paper: 50; 10 in QPaug (its section 4.1).
        probability: Where p(answer | question, passage) comes from: "logprobs" takes the probabilities of the answer's
            tokens, as in the paper, and asks an LM that has none as "stated" does; "stated" asks the LM for a number.
        upr: Scorer that gives p(question | passage): upr:MODEL for a local language model, or none.
        style: Form of the answers: "short" for a short phrase, "three-words" with the limit of QPaug's prompts (its
            Table 2).
        in_flight: How many passages are read at the same time.
    """

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 10,
        probability: Literal["logprobs", "stated"] = "logprobs",
        upr: str = "none",
        style: Literal["short", "three-words"] = "short",
        in_flight: Count = 16,
    ) -> None:
        reader = NameAnswerInThreeWords if style == "three-words" else NameAnswer
        super().__init__(reader, retriever, k, probability, upr, in_flight)

    def forward(self, question: str) -> dspy.Prediction:
        # Retrieval; then, for each passage p by itself, an answer a with p(a | q, p), and p(q | p).
        found = self.retriever(question, self.k)
        ranked = self.draw(question, found)

        # Reranking of the answers: the best candidate.
        return self.choose(question, found, ranked)


if __name__ == "__main__":
    from programs.commands.method import main

    main(Rerank)
