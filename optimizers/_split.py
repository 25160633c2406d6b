"""Questions to learn from and questions to be judged by, with nothing in both."""

import random
from collections.abc import Sequence

import dspy

from eval.metrics.squad import normalise
from retrieval import UsageError

__all__ = ["split"]


def split(
    examples: Sequence[dspy.Example], *, train: int, held_out: int, seed: int
) -> tuple[list[dspy.Example], list[dspy.Example]]:
    """Draw a train part and a held-out part.

    A question that occurs twice, by its normalised text, is drawn once.

    Args:
        examples: Questions.
        train: Size of the train part.
        held_out: Size of the held-out part at most; it gets what is left.
        seed: Of the drawing.

    Raises:
        UsageError: there are too few questions for a train part of this size and at least one to hold out.
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
