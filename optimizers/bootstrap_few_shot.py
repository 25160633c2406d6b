"""Demonstrations taken from the program's own runs on questions that it answers right."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import BootstrapFewShot

from eval.metrics import Metric

__all__ = ["compile"]

DEMONSTRATIONS = 3


def compile(program: dspy.Module, train: Sequence[dspy.Example], *, metric: Metric) -> dspy.Module:
    """Run the program on the examples in order and keep what its predictors did on the first three it answers right.

    Args:
        program: The program; stays as it is.
        train: Questions with gold answers.
        metric: Judges the answers; only the full score, 1, counts as right.
    """
    optimizer = BootstrapFewShot(
        metric=metric, metric_threshold=1.0, max_bootstrapped_demos=DEMONSTRATIONS, max_labeled_demos=0
    )
    return optimizer.compile(program, trainset=list(train))
