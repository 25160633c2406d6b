"""Rerank: an answer from each passage by itself, of which the most probable is taken.

Lazaridou et al., "Internet-augmented language models through few-shot prompting for open-domain question answering",
2022. It is a row of Kim, Park and Baek, "QPaug", Findings of EMNLP 2024, Table 2. Zero-shot here, one answer a passage.

question -> k passages -> answer and its probability, each -> the best by p(question, answer | passage)
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.candidates import candidates_of, recorded
from programs.steps.result import PerPassage, Ranking, Reading, result
from programs.steps.scorer import scorer_or_none
from programs.steps.side_by_side import in_thread
from retrieval import Retriever, UsageError
from signatures.answer import NameAnswer

__all__ = ["Rerank"]


class Rerank(dspy.Module):
    """Answer from each passage by itself, and take the answer that question and answer are most probable with.

    Per question: as many LM calls as passages are found (k at most), side by side, and 1 search; so 1 LM call deep. An
    LM that offers log-probabilities and then refuses them is asked twice. An unparsable reply costs one call more, in
    which DSPy asks for JSON.

    The score of an answer is p(answer | question, passage), per token, times the passage's share in the question: the
    softmax over the passages of log p(question | passage), per token. That takes a model (upr:MODEL); without one all
    shares are the same, the answer's probability decides alone, and `scored_by` says so.

    The result has these fields besides the common four: `ranked`, the passage ids in the order of the scores; by
    passage id the `candidates`, empty where there was no answer, their `probabilities` and the `shares`; `measured_by`,
    how often a probability came from log-probabilities ("logprobs"), from what the LM said ("stated"), and from
    nothing, which is 1 for an answer ("binary"); `scored_by`, the kind of scorer: "none" or "upr". `evidence` is the
    passage that the answer comes from; nothing where there is no answer.

    Args:
        retriever: Finds the passages. QPaug's comparison uses Contriever.
        k: Passages to read. Paper: 50; 10 in QPaug (its section 4.1).
        probability: Where p(answer | question, passage) comes from: "logprobs" takes the probabilities of the answer's
            tokens, as in the paper, and where the LM has none does as "stated", which asks the LM for a number.
        upr: Scorer that gives p(question | passage): upr:MODEL for a local language model, or none.
        in_flight: Passages read at the same time.
    """

    reads: ClassVar[dict[str, Reading]] = {
        "ranked": Ranking(),
        "candidates": PerPassage(),
        "probabilities": PerPassage(),
        "shares": PerPassage(),
    }

    def __init__(
        self,
        retriever: Retriever,
        *,
        k: int = 10,
        probability: Literal["logprobs", "stated"] = "logprobs",
        upr: str = "none",
        in_flight: int = 16,
    ) -> None:
        super().__init__()
        if in_flight < 1:
            raise UsageError(f"in_flight must be at least 1, not {in_flight}")
        self.retriever = retriever
        self.k = k
        self.logprobs = probability == "logprobs"
        self.in_flight = in_flight
        self.scored_by = upr.partition(":")[0]
        self.scorer = scorer_or_none(upr)
        self.candidate = dspy.Predict(NameAnswer)

    def forward(self, question: str) -> dspy.Prediction:
        # Retrieval; then, for each passage p by itself, a with p(a | q, p), and p(q | p).
        found = self.retriever(question, self.k)
        ranked = candidates_of(
            self.candidate, question, found, self.scorer, logprobs=self.logprobs, at_most=self.in_flight
        )

        # Reranking of the answers.
        best = next((candidate for candidate in ranked if candidate.answer), None)
        return result(
            answer=best.answer if best else "",
            queries=[question],
            passages=found,
            evidence=[best.passage] if best else [],
            scored_by=self.scored_by,
            **recorded(ranked),
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)


if __name__ == "__main__":
    from programs.commands.method import main

    main(Rerank)
