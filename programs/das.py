"""DAS: an answer or none from each passage by itself; the best by the scores of answer and passage is taken.

Cho et al., "Improving Zero-shot Reader by Reducing Distractions from Irrelevant Documents in Open-Domain Question
Answering", Findings of EMNLP 2023 (distraction-aware answer selection). A row of Xin et al., "Chain-of-Rewrite", COLING
2025, Table 1.

question -> k passages -> answer and its probability or "unanswerable", each -> the best by answer and question score
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.candidates import PassageReader
from programs.steps.settings import Count, checked
from retrieval import AnyRetriever
from signatures.answer import NameAnswerOrUnanswerable

__all__ = ["DAS"]


class DAS(PassageReader):
    """Answer from each passage by itself or turn it down, and take the answer with the highest score.

    Irrelevant passages distract an LM that reads all of them at once. Here it reads one passage at a time and may say
    that the passage has no answer. The score of an answer is the probability of the answer given question and passage,
    times the share of the passage in the question: the softmax over the passages of the question's probability given
    the passage. All are taken per token. The shares need a model (upr:MODEL); without one they are all the same.

    Per question:
        LM calls: 1 per passage, k at most. An LM that offers log-probabilities and then refuses them is asked twice.
        Searches: 1.
        Depth: 1 LM call.

    In the result:
        unanswerable: whether the LM turned down all passages; the answer is empty then.
        ranked: passage ids, highest score first.
        candidates: by passage id, the answer in the passage; empty where there is none.
        probabilities: by passage id, the probability of that answer.
        shares: by passage id, the share of the passage in the question.
        measured_by: how often a probability came from log-probabilities ("logprobs"), from a number that the LM gave
            ("stated"), and from neither ("binary"), which counts as 1 for an answer but ranks it behind the others.
        scored_by: kind of the scorer: "none" or "upr".
        evidence: the passage that the answer comes from.

    Args:
        retriever: Finds the passages. Chain-of-Rewrite's comparison uses BM25.
        k: Passages to read. Chain-of-Rewrite does not say how many; 20 is ours.
        probability: Where the probability of an answer comes from: "logprobs" takes the probabilities of its tokens, as
            in the paper, and asks an LM that has none as "stated" does; "stated" asks the LM for a number.
        upr: Scorer of the question: upr:MODEL for a local language model, as in the paper, or none.
        in_flight: How many passages are read at the same time.
    """

    zero_shot: ClassVar[tuple[str, ...]] = ("candidate",)  # the paper's reader is a zero-shot one

    @checked
    def __init__(
        self,
        retriever: AnyRetriever,
        *,
        k: Count = 20,
        probability: Literal["logprobs", "stated"] = "logprobs",
        upr: str = "none",
        in_flight: Count = 16,
    ) -> None:
        super().__init__(NameAnswerOrUnanswerable, retriever, k, probability, upr, in_flight)

    def forward(self, question: str) -> dspy.Prediction:
        # Retrieval; then, for each passage by itself, an answer with its probability, and the passage's share.
        found = self.retriever(question, self.k)
        ranked = self.draw(question, found)

        # Selection of the best candidate, among the passages that were not turned down.
        return self.choose(question, found, ranked, unanswerable=not any(candidate.answer for candidate in ranked))


if __name__ == "__main__":
    from programs.commands.method import main

    main(DAS)
