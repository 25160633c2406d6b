"""Instructions rewritten by the LM, predictor by predictor; it sees the scores of earlier attempts."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import COPRO

from eval.metrics import Metric
from optimizers.recipe import check_settings, copy_with_prompts, zero_if_undefined

__all__ = ["LEAST", "WRITES", "compile"]

LEAST = {"train": 1, "breadth": 2, "depth": 1, "novelty": 0}

WRITES = "has the LM rewrite instructions"


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

    The program is run on all the examples about p * breadth * depth * (depth + 1) / 2 times, where p is the number of
    its predictors. The instructions that a predictor had are tried too.

    Args:
        seed: Not used: only the LM draws at random.
        threads: Questions in flight while instructions are judged.
        breadth: How many instructions to try for each predictor in each turn, the old ones included.
        depth: How many turns.
        novelty: The temperature at which the LM writes instructions.
    """
    check_settings(LEAST, train, breadth=breadth, depth=depth, novelty=novelty)
    optimizer = COPRO(metric=zero_if_undefined(metric), breadth=breadth, depth=depth, init_temperature=novelty)
    compiled = optimizer.compile(
        program, trainset=list(train), eval_kwargs={"num_threads": threads, "display_progress": True}
    )
    return copy_with_prompts(program, compiled)
