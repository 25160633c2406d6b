"""Candidate answers, each drawn from one passage by itself, and their scores."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import dspy

from programs.steps.logprobs import Stated, ask_with_probability, mean_probability
from programs.steps.method import Method
from programs.steps.result import PerPassage, Ranking, Reading, result
from programs.steps.side_by_side import side_by_side
from programs.steps.text import one_line, unless_declined
from retrieval import AnyRetriever, Passage, as_retriever, number

if TYPE_CHECKING:
    from retrieval.ranking.scorers import Scorer

__all__ = ["Candidate", "PassageReader", "parse_answer", "scorer_or_none"]

_PROBABILITY = Stated("probability", "probability, from 0 to 1, that the candidate is the right answer")


class Candidate(NamedTuple):
    """The answer that the LM drew from one passage."""

    passage: Passage
    answer: str
    """Empty where the LM gave none."""
    probability: float
    """p(answer | question, passage), per token; 0 where there is no answer."""
    measured_by: str
    """Where the probability comes from: "logprobs", "stated" (the LM gave a number) or "binary" (1 for an answer).

    Binary is no measurement: such an answer ranks behind all that were measured.
    """
    share: float
    """How much of the question the passage accounts for: the softmax of the scorer's scores over the passages."""

    @property
    def score(self) -> float:
        return self.share * self.probability


class PassageReader(Method):
    """The base of DAS and Rerank: an answer from each passage by itself, of which the best is taken.

    The probability of an answer comes from the log-probabilities of its tokens. An LM that has none is asked for a
    number. Where neither gives a probability it counts as 1, and the answer ranks behind those with a measured one,
    because nothing says how sure the LM was of it. With `retrieval.ranking.scorers.QuestionLikelihood` the score is
    p(question, answer | passage).

    Args:
        reader: What the LM is asked about each passage: `document` and `question` in, `candidate` out.
        retriever, k, probability, upr, in_flight: See `programs.das.DAS`.
    """

    reads: ClassVar[dict[str, Reading]] = {
        "ranked": Ranking(),
        "candidates": PerPassage(),
        "probabilities": PerPassage(),
        "shares": PerPassage(),
    }

    def __init__(
        self, reader: type[dspy.Signature], retriever: AnyRetriever, k: int, probability: str, upr: str, in_flight: int
    ) -> None:
        super().__init__()
        self.retriever = as_retriever(retriever)
        self.k = k
        self.probability = probability
        self.in_flight = in_flight
        self.scored_by = upr.partition(":")[0]
        self.scorer = scorer_or_none(upr)
        self.candidate = dspy.Predict(reader)

    def draw(self, question: str, passages: Sequence[Passage]) -> list[Candidate]:
        """Draw an answer from each passage by itself; the highest score first, equal ones in order, no answer last."""
        calls = [partial(self._draw_one, question, passage) for passage in passages]
        drawn, shares = side_by_side(
            partial(side_by_side, *calls, at_most=self.in_flight), partial(_shares, question, passages, self.scorer)
        )
        candidates = [
            Candidate(passage, answer, probability, measured_by, shares[passage.id])
            for passage, (answer, probability, measured_by) in zip(passages, drawn, strict=True)
        ]
        return sorted(candidates, key=lambda one: (not one.answer, one.measured_by == "binary", -one.score))

    def _draw_one(self, question: str, passage: Passage) -> tuple[str, float, str]:
        """The answer in the passage, its probability, and where the probability comes from."""
        inputs = {"document": number([passage]), "question": question}
        reply, p, measured_by = ask_with_probability(
            self.candidate, "candidate", mean_probability, _PROBABILITY, by=self.probability, **inputs
        )
        answer = parse_answer(reply.candidate)
        return answer, (1.0 if p is None else p) if answer else 0.0, measured_by

    def choose(
        self, question: str, passages: list[Passage], ranked: Sequence[Candidate], **further: Any
    ) -> dspy.Prediction:
        """The result with the answer of the best candidate, and further fields of the method."""
        best = next((candidate for candidate in ranked if candidate.answer), None)
        return result(
            answer=best.answer if best else "",
            queries=[question],
            passages=passages,
            evidence=[best.passage] if best else [],
            **further,
            scored_by=self.scored_by,
            ranked=[candidate.passage.id for candidate in ranked],
            candidates={candidate.passage.id: candidate.answer for candidate in ranked},
            probabilities={candidate.passage.id: candidate.probability for candidate in ranked},
            shares={candidate.passage.id: candidate.share for candidate in ranked},
            measured_by=dict(Counter(candidate.measured_by for candidate in ranked)),
        )


def parse_answer(said: str | None) -> str:
    """The answer as one line; empty where the LM gave none, or wrote that it has none."""
    return unless_declined(one_line(said))


def scorer_or_none(spec: str) -> "Scorer | None":
    """None for the spec "none", else the scorer that `retrieval.ranking.scorers.load_scorer` opens.

    Its module is imported only when a scorer is named.

    Raises:
        UsageError: no scorer has that name, or it cannot be loaded.
    """
    if spec == "none":
        return None
    from retrieval.ranking.scorers import load_scorer

    return load_scorer(spec)


def _shares(question: str, passages: Sequence[Passage], scorer: "Scorer | None") -> dict[str, float]:
    """The softmax of the scorer's scores, by passage id."""
    if not scorer:
        return {passage.id: 1 / len(passages) for passage in passages}
    from retrieval.ranking.rerank import rerank

    scores = {passage.id: passage.score or 0.0 for passage in rerank(question, passages, scorer)}
    highest = max(scores.values(), default=0.0)
    weights = {id: math.exp(score - highest) for id, score in scores.items()}
    return {id: weight / math.fsum(weights.values()) for id, weight in weights.items()}
