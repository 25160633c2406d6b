"""Instructions first, then demonstrations from what the program does with them."""

from collections.abc import Sequence
from typing import Literal

import dspy

from eval.metrics import Metric
from optimizers.recipe import Recipe, check_settings
from optimizers.recipes import bootstrap_random_search, copro, gepa

__all__ = ["LEAST", "WRITES", "compile"]

LEAST = {**bootstrap_random_search.LEAST, "train": gepa.LEAST["train"]}

WRITES = "has the LM rewrite instructions"

_INSTRUCTIONS: dict[str, Recipe] = {"copro": copro.compile, "gepa": gepa.compile}


def compile(
    program: dspy.Module,
    train: Sequence[dspy.Example],
    metric: Metric,
    seed: int = 0,
    threads: int = 8,
    *,
    instructions: Literal["copro", "gepa"] = "gepa",
    demonstrations: int = 3,
    candidates: int = 8,
) -> dspy.Module:
    """Find instructions by one recipe with its defaults, then demonstrations by bootstrap_random_search.

    Args:
        seed: The seed of both recipes.
        instructions: The recipe that writes the instructions.
        demonstrations: As in bootstrap_random_search.
        candidates: As in bootstrap_random_search.
    """
    check_settings(LEAST, train, demonstrations=demonstrations, candidates=candidates)
    instructed = _INSTRUCTIONS[instructions](program, train, metric, seed, threads)
    return bootstrap_random_search.compile(
        instructed, train, metric, seed, threads, demonstrations=demonstrations, candidates=candidates
    )
