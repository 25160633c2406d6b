"""Demonstrations taken from the program's own runs on questions that it answers right."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import BootstrapFewShot

from eval.metrics import Metric
from optimizers._programs import enough, number_of, with_prompts_of

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
    """Run the program on the examples in order and keep what its predictors did on the first ones it answers right.

    Args:
        program: The program; stays as it is.
        train: Questions with gold answers.
        metric: Judges the answers; only the full score, 1, counts as right.
        seed: Not used: the order of the examples decides.
        threads: Not used: DSPy runs one example after the other.
        demonstrations: So many right answers are looked for.

    Raises:
        UsageError: a setting is below its `LEAST`.
    """
    enough(LEAST, train, demonstrations=demonstrations)
    optimizer = BootstrapFewShot(
        metric=number_of(metric), metric_threshold=1.0, max_bootstrapped_demos=demonstrations, max_labeled_demos=0
    )
    return with_prompts_of(optimizer.compile(program, trainset=list(train)), program)
