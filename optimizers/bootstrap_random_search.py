"""The best of several sets of demonstrations that are each taken from the program's own runs."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import BootstrapFewShotWithRandomSearch

from eval.metrics import Metric
from optimizers._programs import enough, number_of, with_prompts_of

__all__ = ["LEAST", "compile"]

LEAST = {"train": 1, "demonstrations": 1, "candidates": 1}

_NOTHING, _IN_ORDER = -3, -1  # DSPy's numbers for the program as it is and for the examples in their order


def compile(
    program: dspy.Module,
    train: Sequence[dspy.Example],
    metric: Metric,
    seed: int = 0,
    threads: int = 8,
    *,
    demonstrations: int = 3,
    candidates: int = 8,
) -> dspy.Module:
    """Bootstrap demonstrations from the examples in several orders and keep the set that scores best on all of them.

    The program without demonstrations takes part too, and wins where no set does better.

    Args:
        program: The program; stays as it is.
        train: Questions with gold answers; candidates are made from them and judged by them.
        metric: Judges the answers; only the full score, 1, makes a demonstration.
        seed: The candidates are DSPy's numbers seed * candidates and on.
        threads: Questions in flight while a candidate is judged.
        demonstrations: Right answers to look for at most; each candidate has a number of its own between 1 and this.
        candidates: Sets to try besides that of the examples in order.

    Raises:
        UsageError: a setting is below its `LEAST`.
    """
    enough(LEAST, train, demonstrations=demonstrations, candidates=candidates)
    first = seed * candidates
    optimizer = BootstrapFewShotWithRandomSearch(
        metric=number_of(metric),
        metric_threshold=1.0,
        max_bootstrapped_demos=demonstrations,
        # Labelled examples would stand in every predictor, whatever fields it has.
        max_labeled_demos=0,
        num_candidate_programs=first + candidates,
        num_threads=threads,
    )
    numbers = [_NOTHING, _IN_ORDER, *range(first, first + candidates)]
    return with_prompts_of(optimizer.compile(program, trainset=list(train), restrict=numbers), program)
