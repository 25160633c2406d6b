"""Rules and demonstrations from the questions whose answers vary most, by comparing good runs with bad ones."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import SIMBA

from eval.metrics import Metric
from optimizers.feedback import explained
from optimizers.recipe import check_settings, copy_with_prompts

__all__ = ["LEAST", "WRITES", "compile"]

LEAST = {"train": 1, "batch_size": 1, "candidates": 1, "batches": 1, "demonstrations": 0}

WRITES = "has the LM write rules"


def compile(
    program: dspy.Module,
    train: Sequence[dspy.Example],
    metric: Metric,
    seed: int = 0,
    threads: int = 8,
    *,
    batch_size: int = 16,
    candidates: int = 4,
    batches: int = 4,
    demonstrations: int = 3,
) -> dspy.Module:
    """Add, step by step, a demonstration, or a rule that the LM writes from a good and a bad run of one question.

    The LM is shown why the runs were good or bad: see `optimizers.explained`. It learns only where answers vary, so
    DSPy asks at temperature 1.

    Args:
        seed: Decides which questions, programs and additions are drawn.
        batch_size: How many questions a step looks at; all if there are fewer.
        candidates: How many runs per question, and how many new programs, in a step.
        batches: How many steps.
        demonstrations: The most for a predictor; 0 for rules alone.
    """
    settings = {"batch_size": batch_size, "candidates": candidates, "batches": batches}
    check_settings(LEAST, train, **settings, demonstrations=demonstrations)
    optimizer = SIMBA(
        metric=explained(metric),
        bsize=min(batch_size, len(train)),
        num_candidates=candidates,
        max_steps=batches,
        max_demos=demonstrations,
        num_threads=threads,
    )
    return copy_with_prompts(program, optimizer.compile(program, trainset=list(train), seed=seed))
