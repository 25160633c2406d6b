"""Rules and demonstrations drawn from questions whose answers vary most, from good runs beside bad ones."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import SIMBA

from eval.metrics import Metric
from optimizers._feedback import explained
from optimizers._programs import enough, with_prompts_of

__all__ = ["LEAST", "compile"]

LEAST = {"train": 1, "batch_size": 1, "candidates": 1, "batches": 1, "demonstrations": 0}


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
    """Add, step by step, a demonstration or a rule that the LM writes over a good and a bad run of the same question.

    The LM is shown why the runs were good or bad: see `optimizers.explained`. Answers must vary if it is to learn
    anything: DSPy asks with temperature 1.

    Args:
        program: The program; stays as it is.
        train: Questions with gold answers.
        metric: Judges the answers.
        seed: Of the drawing of questions, programs, and what to add.
        threads: Questions in flight at the same time.
        batch_size: Questions of a step; all of them where there are fewer.
        candidates: Runs per question of a step, and new programs per step.
        batches: Steps.
        demonstrations: Of a predictor at most; 0 for rules alone.

    Raises:
        UsageError: a setting is below its `LEAST`.
    """
    settings = {"batch_size": batch_size, "candidates": candidates, "batches": batches}
    enough(LEAST, train, **settings, demonstrations=demonstrations)
    optimizer = SIMBA(
        metric=explained(metric),
        bsize=min(batch_size, len(train)),
        num_candidates=candidates,
        max_steps=batches,
        max_demos=demonstrations,
        num_threads=threads,
    )
    return with_prompts_of(optimizer.compile(program, trainset=list(train), seed=seed), program)
