"""DAS: an answer from each passage by itself, or none; the most probable one counts, if the passage fits the question.

Cho et al., "Improving Zero-shot Reader by Reducing Distractions from Irrelevant Documents in Open-Domain Question
Answering", Findings of EMNLP 2023 (distraction-aware answer selection). It is a row of Xin et al., "Chain-of-Rewrite",
COLING 2025, Table 1.

question -> k passages -> answer and its probability or "unanswerable", each -> the best by answer and question score
"""

from typing import ClassVar, Literal

import dspy

from programs.steps.candidates import candidates_of, recorded
from programs.steps.result import PerPassage, Ranking, Reading, result
from programs.steps.scorer import scorer_or_none
from programs.steps.side_by_side import in_thread
from retrieval import Retriever, UsageError
from signatures.answer import NameAnswerOrUnanswerable

__all__ = ["DAS"]


class DAS(dspy.Module):
    """Answer from each passage by itself or turn it down, and take the answer with the highest score.

    Per question: as many LM calls as passages are found (k at most), side by side, and 1 search; so 1 LM call deep. An
    LM that offers log-probabilities and then refuses them is asked twice. An unparsable reply costs one call more, in
    which DSPy asks for JSON.

    The score of an answer is the answer's probability per token, given question and passage, times the passage's share
    in the question: the softmax over the passages of the question's log-probability per token, given the passage. That
    takes a model (upr:MODEL); without one all shares are the same, the answer's probability decides alone, and
    `scored_by` says so.

    The result has these fields besides the common four: `unanswerable`, whether the LM turned all passages down, and
    then the answer is empty; `ranked`, the passage ids in the order of the scores; by passage id the `candidates`,
    empty where there was no answer, their `probabilities` and the `shares`; `measured_by`, how often a probability came
    from log-probabilities ("logprobs"), from what the LM said ("stated"), and from nothing, which is 1 for an answer
    ("binary"); `scored_by`, the kind of scorer: "none" or "upr". `evidence` is the passage that the answer comes from.

    Args:
        retriever: Finds the passages. Chain-of-Rewrite's comparison uses BM25.
        k: Passages to read. Chain-of-Rewrite does not say how many; 20 is ours.
        probability: Where the answer's probability comes from: "logprobs" takes the probabilities of the answer's
            tokens, as in the paper, and where the LM has none does as "stated", which asks the LM for a number.
        upr: Scorer of the question: upr:MODEL for a local language model, as in the paper, or none.
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
        k: int = 20,
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
        self.candidate = dspy.Predict(NameAnswerOrUnanswerable)

    def forward(self, question: str) -> dspy.Prediction:
        # Retrieval; then, for each passage by itself, the answer's score and the question's.
        found = self.retriever(question, self.k)
        ranked = candidates_of(
            self.candidate, question, found, self.scorer, logprobs=self.logprobs, at_most=self.in_flight
        )

        # Selection, among the passages that were not turned down.
        best = next((candidate for candidate in ranked if candidate.answer), None)
        return result(
            answer=best.answer if best else "",
            queries=[question],
            passages=found,
            evidence=[best.passage] if best else [],
            unanswerable=best is None,
            scored_by=self.scored_by,
            **recorded(ranked),
        )

    async def aforward(self, question: str) -> dspy.Prediction:
        return await in_thread(self.forward, question)


if __name__ == "__main__":
    from programs.commands.method import main

    main(DAS)
