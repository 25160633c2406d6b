"""Demonstrations for every question, from the program's runs on the train questions that are most like it."""

import math
import re
import zlib
from collections.abc import Sequence

import dspy
import numpy as np
from dspy.teleprompt import KNNFewShot
from numpy.typing import NDArray

from eval.metrics import Metric
from optimizers.recipe import check_settings, zero_if_undefined

__all__ = ["LEAST", "NO_STATE", "compile"]

# With a single train question there is no nearest one.
LEAST = {"train": 2, "neighbours": 1, "demonstrations": 1}
NO_STATE = "its program keeps the train questions, and runs itself on those nearest to each question that it is asked"
_DIMENSIONS = 4096


def compile(
    program: dspy.Module,
    train: Sequence[dspy.Example],
    metric: Metric,
    seed: int = 0,
    threads: int = 8,
    *,
    neighbours: int = 5,
    demonstrations: int = 3,
) -> dspy.Module:
    """A program that bootstraps demonstrations from the nearest train questions each time it is asked.

    Each question costs up to `neighbours` further runs of the program. The result cannot be saved, because DSPy puts
    the search into the program as a function: a state file would hold the program as it was. It works when the program
    is called, not when it is awaited.

    Args:
        metric: Judges the answers; only the full score, 1, makes a demonstration.
        seed: Not used: nothing is drawn.
        threads: Not used: DSPy runs one example after the other.
        neighbours: How many train questions to run the program on.
        demonstrations: How many right answers to collect from these runs.
    """
    check_settings(LEAST, train, neighbours=neighbours, demonstrations=demonstrations)
    optimizer = KNNFewShot(
        k=neighbours,
        trainset=list(train),
        vectorizer=dspy.Embedder(_Words([example.question for example in train]), caching=False),
        metric=zero_if_undefined(metric),
        metric_threshold=1.0,
        max_bootstrapped_demos=demonstrations,
        max_labeled_demos=0,
    )
    return optimizer.compile(program)


class _Words:
    """Turns texts into vectors of length 1: hashed words, and the fewer known texts have a word the more it weighs."""

    def __init__(self, known: Sequence[str]) -> None:
        present = [set(_words(text)) for text in known]
        counts: dict[int, int] = {}
        for words in present:
            for word in words:
                counts[word] = counts.get(word, 0) + 1
        self._weights = {word: math.log(1 + len(known) / count) for word, count in counts.items()}
        self._unseen = math.log(1 + len(known))

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), _DIMENSIONS), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in _words(text):
                vector[word] += self._weights.get(word, self._unseen)
            vector /= np.linalg.norm(vector) or 1.0
        return vectors


def _words(text: str) -> list[int]:
    return [zlib.crc32(word.encode()) % _DIMENSIONS for word in re.findall(r"\w+", text.casefold())]
