"""A scripted LM that reports log-probabilities, and a scorer with given scores."""

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import dspy
from dspy.lm15 import InvalidRequestError, Request, Response, TokenLogprob
from support.scripted import Reply, Script, engine_lm, scripted

from retrieval.ranking.scorers import Scorer

__all__ = ["Given", "with_logprobs"]


class _Likely:
    """Adds probabilities to the words of the fields that have them; other replies have none."""

    supported_params = ("logprobs", "top_logprobs")

    def __init__(self, engine: Any, field: str, probabilities: Mapping[str, Sequence[float]], refuses: bool) -> None:
        self.engine = engine
        self.head = f"[[ ## {field} ## ]]\n"
        self.probabilities = probabilities
        self.refuses = refuses

    def complete(self, request: Request) -> Response:
        if self.refuses and request.config.logprobs is not None:
            raise InvalidRequestError("logprobs are not supported with this model")
        response = self.engine.complete(request)
        head, found, value = response.message.text.partition(self.head)
        if request.config.logprobs is None or value not in self.probabilities:
            return response  # type: ignore[no-any-return]
        words = [word if n == 0 else f" {word}" for n, word in enumerate(value.split(" "))]
        tokens = zip(words, self.probabilities[value], strict=True)
        logprobs = (TokenLogprob(head + found, -0.1), *(TokenLogprob(word, math.log(p)) for word, p in tokens))
        return replace(response, logprobs=logprobs)  # type: ignore[no-any-return]


@contextmanager
def with_logprobs(
    *replies: Reply, probabilities: Mapping[str, Sequence[float]], refuses: bool = False, field: str = "candidate"
) -> Iterator[Script]:
    """Like `scripted`, with an LM that reports the probabilities of the words of this field, or refuses to."""
    with scripted(*replies) as script, dspy.context(lm=engine_lm(_Likely(script, field, probabilities, refuses))):
        yield script


class Given(Scorer):
    """A scorer that looks a score up by how the text begins; `scored` keeps the pairs that it was asked about."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores = scores
        self.scored: list[tuple[str, str]] = []
        self.lock = threading.Lock()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        with self.lock:
            self.scored += [(query, text) for text in texts]
        return [next(score for start, score in self.scores.items() if text.startswith(start)) for text in texts]
