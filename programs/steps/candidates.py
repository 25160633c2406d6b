"""Answers that are drawn from one passage each, and how much speaks for each of them."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import dspy

from programs.steps.ask import ask
from programs.steps.logprobs import ask_scored, bare, certainty
from programs.steps.side_by_side import side_by_side
from programs.steps.text import line
from retrieval import Passage, number

if TYPE_CHECKING:
    from retrieval.ranking.scorers import Scorer

__all__ = ["Candidate", "candidates_of", "recorded", "settled"]


class Candidate(NamedTuple):
    """What the LM drew from one passage."""

    passage: Passage
    answer: str
    """Empty where it gave none."""
    probability: float
    """Of the answer, given passage and question; 0 where there is none."""
    measure: str
    """Where the probability comes from: "logprobs", "stated" or "binary"."""
    share: float
    """How much of the question the passage accounts for: the softmax of the scorer's scores over the passages."""

    @property
    def score(self) -> float:
        return self.share * self.probability


def candidates_of(
    predictor: dspy.Module,
    question: str,
    passages: Sequence[Passage],
    scorer: "Scorer | None",
    *,
    logprobs: bool,
    at_most: int,
) -> list[Candidate]:
    """The answer from each passage by itself, the one with the highest score first; equal ones keep their order.

    The probability of an answer is taken from the log-probabilities of its tokens (see
    `programs.steps.logprobs.certainty`); where the LM has none it is asked for a number; where that is no probability
    either, it is 1. With `retrieval.ranking.scorers.QuestionLikelihood` the score is then that of question and answer
    together, given the passage.

    Args:
        predictor: Has the inputs `document` and `question` and the output `candidate`.
        question: The question.
        passages: What to read.
        scorer: Says how well the passages fit the question; without, all have the same share.
        logprobs: Whether to ask for log-probabilities; without, for a number at once.
        at_most: How many passages are read at the same time.
    """
    calls = [partial(_name, predictor, question, passage, logprobs) for passage in passages]
    named, shares = side_by_side(
        partial(side_by_side, *calls, at_most=at_most), partial(_shares, question, passages, scorer)
    )
    found = [
        Candidate(passage, answer, probability, measure, shares[passage.id])
        for passage, (answer, probability, measure) in zip(passages, named, strict=True)
    ]
    return sorted(found, key=lambda candidate: -candidate.score)


def recorded(ranked: Sequence[Candidate]) -> dict[str, Any]:
    """The candidates as fields of a result."""
    return {
        "ranked": [candidate.passage.id for candidate in ranked],
        "candidates": {candidate.passage.id: candidate.answer for candidate in ranked},
        "probabilities": {candidate.passage.id: candidate.probability for candidate in ranked},
        "shares": {candidate.passage.id: candidate.share for candidate in ranked},
        "measured_by": dict(Counter(candidate.measure for candidate in ranked)),
    }


def settled(said: str | None) -> str:
    """The answer as one line; empty where the LM gave none, or said that there is none."""
    answer = line(said)
    return "" if bare(answer) == "unknown" or "unanswerable" in answer.casefold() else answer


def _name(predictor: dspy.Module, question: str, passage: Passage, logprobs: bool) -> tuple[str, float, str]:
    """The answer in the passage, its probability, and where that comes from."""
    inputs = {"document": number([passage]), "question": question}
    p: float | None
    if logprobs and (scored := ask_scored(predictor, **inputs)):
        reply, tokens = scored
        p, measure = certainty("candidate", tokens), "logprobs"
    else:
        reply = ask(predictor, signature=_with_probability(predictor), **inputs)
        p, measure = reply.get("probability"), "stated"
    answer = settled(reply.candidate)
    if p is None or not 0 <= p <= 1:
        p, measure = 1.0, "binary"
    return answer, p if answer else 0.0, measure


def _shares(question: str, passages: Sequence[Passage], scorer: "Scorer | None") -> dict[str, float]:
    """By passage id."""
    if not scorer:
        return {passage.id: 1 / len(passages) for passage in passages}
    from retrieval.ranking.rerank import rerank

    scores = {passage.id: passage.score or 0.0 for passage in rerank(question, passages, scorer)}
    highest = max(scores.values(), default=0.0)
    weights = {id: math.exp(score - highest) for id, score in scores.items()}
    return {id: weight / math.fsum(weights.values()) for id, weight in weights.items()}


def _with_probability(predictor: dspy.Module) -> type[dspy.Signature]:
    """The predictor's signature with a number behind the candidate, for LMs without log-probabilities."""
    field = dspy.OutputField(desc="probability, from 0 to 1, that the candidate is the right answer")
    return predictor.signature.append("probability", field, float)  # type: ignore[no-any-return]
