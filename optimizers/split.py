"""Divides questions into those to learn from and those to be judged by; no question is in both."""

import random
from collections.abc import Sequence

import dspy

from eval.metrics.gold import normalise
from retrieval import UsageError

__all__ = ["split"]


def split(
    examples: Sequence[dspy.Example], *, train: int, held_out: int, seed: int
) -> tuple[list[dspy.Example], list[dspy.Example]]:
    """Draw a train part and a held-out part; a question that occurs twice, by its normalised text, is drawn once.

    Args:
        examples: Questions.
        train: Size of the train part.
        held_out: Largest size of the held-out part; it is smaller if fewer questions are left.
        seed: Decides which questions are drawn.

    Raises:
        UsageError: there are too few questions for this train part and one more to hold out.
    """
    different = list({normalise(example.question): example for example in reversed(examples)}.values())
    if not (train >= 1 and held_out >= 1):
        raise UsageError("the train part and the held-out part need at least one question each")
    if len(different) <= train:
        raise UsageError(
            f"{len(different)} different questions are too few for {train} to train on and some to hold out"
        )
    drawn = random.Random(seed).sample(different, min(train + held_out, len(different)))
    return drawn[:train], drawn[train:]
