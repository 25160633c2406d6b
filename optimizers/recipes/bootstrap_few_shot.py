"""Demonstrations taken from the program's own runs on questions that it answers right."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import BootstrapFewShot

from eval.metrics import Metric
from optimizers.recipe import check_settings, copy_with_prompts, zero_if_undefined

__all__ = ["LEAST", "compile"]

LEAST = {"train": 1, "demonstrations": 1}


def compile(
    program: dspy.Module,
    train: Sequence[dspy.Example],
    metric: Metric,
    seed: int = 0,
    threads: int = 8,
    *,
    demonstrations: int = 3,
) -> dspy.Module:
    """Run the program on the examples in order; the calls of the first runs with a right answer become demonstrations.

    Args:
        metric: Judges the answers; only the full score, 1, counts as right.
        seed: Not used: the order of the examples decides.
        threads: Not used: DSPy runs one example after the other.
        demonstrations: How many right answers to collect.
    """
    check_settings(LEAST, train, demonstrations=demonstrations)
    optimizer = BootstrapFewShot(
        metric=zero_if_undefined(metric),
        metric_threshold=1.0,
        max_bootstrapped_demos=demonstrations,
        max_labeled_demos=0,
    )
    return copy_with_prompts(program, optimizer.compile(program, trainset=list(train)))
