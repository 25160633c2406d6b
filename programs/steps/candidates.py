"""Candidate answers, each drawn from one passage by itself, and their scores."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.logprobs import ask_with_logprobs, mean_probability
from programs.steps.side_by_side import side_by_side
from programs.steps.text import one_line, unless_declined
from retrieval import Passage, number
from signatures.replies import ProbabilityOrNone

if TYPE_CHECKING:
    from retrieval.ranking.scorers import Scorer

__all__ = ["Candidate", "candidate_fields", "draw_candidates", "parse_answer"]


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


def draw_candidates(
    predictor: dspy.Module,
    question: str,
    passages: Sequence[Passage],
    scorer: "Scorer | None",
    *,
    logprobs: bool,
    at_most: int,
) -> list[Candidate]:
    """Draw an answer from each passage by itself; the candidate with the highest score first, equal ones in order.

    The probability of an answer comes from the log-probabilities of its tokens (`programs.steps.logprobs`). An LM that
    has none is asked for a number. Where neither gives a probability it counts as 1, and the answer ranks behind those
    with a measured one, because nothing says how sure the LM was of it. Passages without an answer come last. With
    `retrieval.ranking.scorers.QuestionLikelihood` the score is p(question, answer | passage).

    Args:
        predictor: Has the inputs `document` and `question` and the output `candidate`.
        question: The question.
        passages: The passages to read.
        scorer: Scores how well a passage fits the question; without one all passages have the same share.
        logprobs: Whether to ask for log-probabilities; otherwise the LM is asked for a number at once.
        at_most: How many passages are read at the same time.
    """
    calls = [partial(_draw, predictor, question, passage, logprobs) for passage in passages]
    drawn, shares = side_by_side(
        partial(side_by_side, *calls, at_most=at_most), partial(_shares, question, passages, scorer)
    )
    candidates = [
        Candidate(passage, answer, probability, measured_by, shares[passage.id])
        for passage, (answer, probability, measured_by) in zip(passages, drawn, strict=True)
    ]
    return sorted(candidates, key=lambda one: (not one.answer, one.measured_by == "binary", -one.score))


def candidate_fields(ranked: Sequence[Candidate]) -> dict[str, Any]:
    """The candidates, best first, as fields of a result: DAS and Rerank report the same ones."""
    return {
        "ranked": [candidate.passage.id for candidate in ranked],
        "candidates": {candidate.passage.id: candidate.answer for candidate in ranked},
        "probabilities": {candidate.passage.id: candidate.probability for candidate in ranked},
        "shares": {candidate.passage.id: candidate.share for candidate in ranked},
        "measured_by": dict(Counter(candidate.measured_by for candidate in ranked)),
    }


def parse_answer(said: str | None) -> str:
    """The answer as one line; empty where the LM gave none, or wrote that it has none."""
    answer = one_line(said)
    return unless_declined(answer)


def _draw(predictor: dspy.Module, question: str, passage: Passage, logprobs: bool) -> tuple[str, float, str]:
    """The answer in the passage, its probability, and where the probability comes from."""
    inputs = {"document": number([passage]), "question": question}
    p: float | None
    if logprobs and (scored := ask_with_logprobs(predictor, "candidate", **inputs)):
        reply, field = scored
        p, measured_by = mean_probability(field) if field else None, "logprobs"
    else:
        reply = ask(predictor, signature=_with_probability(predictor), **inputs)
        p, measured_by = reply.get("probability"), "stated"
    answer = parse_answer(reply.candidate)
    if p is None:
        p, measured_by = 1.0, "binary"
    return answer, p if answer else 0.0, measured_by


def _shares(question: str, passages: Sequence[Passage], scorer: "Scorer | None") -> dict[str, float]:
    """The softmax of the scorer's scores, by passage id."""
    if not scorer:
        return {passage.id: 1 / len(passages) for passage in passages}
    from retrieval.ranking.rerank import rerank

    scores = {passage.id: passage.score or 0.0 for passage in rerank(question, passages, scorer)}
    highest = max(scores.values(), default=0.0)
    weights = {id: math.exp(score - highest) for id, score in scores.items()}
    return {id: weight / math.fsum(weights.values()) for id, weight in weights.items()}


def _with_probability(predictor: dspy.Module) -> type[dspy.Signature]:
    """The predictor's signature with a further output, the probability; for LMs without log-probabilities."""
    desc = "probability, from 0 to 1, that the candidate is the right answer"
    field = dspy.OutputField(desc=desc, default_factory=lambda: None)
    return predictor.signature.append("probability", field, ProbabilityOrNone)  # type: ignore[no-any-return]
