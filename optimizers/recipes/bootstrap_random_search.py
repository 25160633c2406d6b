"""The best of several sets of demonstrations that are each taken from the program's own runs."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import BootstrapFewShotWithRandomSearch

from eval.metrics import Metric
from optimizers.recipe import check_settings, copy_with_prompts, zero_if_undefined

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

    The program without demonstrations takes part too, and wins if no set does better.

    Args:
        train: Questions with gold answers; candidates are made from them and judged by them.
        metric: Judges the answers; only the full score, 1, makes a demonstration.
        seed: DSPy numbers its candidates; the first one tried is number seed * candidates.
        threads: Questions in flight while a candidate is judged.
        demonstrations: The most right answers to collect; each candidate draws its own number from 1 to this.
        candidates: How many sets to try, besides the one from the examples in their order.
    """
    check_settings(LEAST, train, demonstrations=demonstrations, candidates=candidates)
    first = seed * candidates
    optimizer = BootstrapFewShotWithRandomSearch(
        metric=zero_if_undefined(metric),
        metric_threshold=1.0,
        max_bootstrapped_demos=demonstrations,
        # DSPy would give labelled examples to every predictor, whatever fields it has.
        max_labeled_demos=0,
        num_candidate_programs=first + candidates,
        num_threads=threads,
    )
    numbers = [_NOTHING, _IN_ORDER, *range(first, first + candidates)]
    return copy_with_prompts(program, optimizer.compile(program, trainset=list(train), restrict=numbers))
