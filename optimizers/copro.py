"""Instructions rewritten by the LM, predictor by predictor, with the scores of earlier attempts before its eyes."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import COPRO

from eval.metrics import Metric
from optimizers._programs import enough, number_of, with_prompts_of

__all__ = ["LEAST", "compile"]

LEAST = {"train": 1, "breadth": 2, "depth": 1, "novelty": 0}


def compile(
    program: dspy.Module,
    train: Sequence[dspy.Example],
    metric: Metric,
    seed: int = 0,
    threads: int = 8,
    *,
    breadth: int = 4,
    depth: int = 2,
    novelty: float = 1.4,
) -> dspy.Module:
    """Try new instructions for each predictor on all the examples and keep the best.

    A program with p predictors is run on the examples about p * breadth * depth * (depth + 1) / 2 times. The
    instructions that a predictor had are among those tried.

    Args:
        program: The program; stays as it is.
        train: Questions with gold answers.
        metric: Judges the answers.
        seed: Not used: nothing is drawn but by the LM.
        threads: Questions in flight while instructions are judged.
        breadth: Instructions to try for each predictor in each turn, the old ones among them.
        depth: Turns.
        novelty: Temperature with which the LM writes them.

    Raises:
        UsageError: a setting is below its `LEAST`.
    """
    enough(LEAST, train, breadth=breadth, depth=depth, novelty=novelty)
    optimizer = COPRO(metric=number_of(metric), breadth=breadth, depth=depth, init_temperature=novelty)
    compiled = optimizer.compile(
        program, trainset=list(train), eval_kwargs={"num_threads": threads, "display_progress": True}
    )
    return with_prompts_of(compiled, program)
