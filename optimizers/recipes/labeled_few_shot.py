"""Demonstrations taken from labelled examples: the papers' few-shot settings."""

import random
from collections.abc import Sequence

import dspy

from eval.metrics import Metric
from eval.tasks.demonstrations.calls import labelled_calls
from eval.tasks.demonstrations.fit import for_predictors
from optimizers.recipe import check_settings

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
    """Give predictors labelled examples, drawn at random, as the method's paper does.

    `eval.tasks.demonstrations` makes them from the gold, with the program's retriever. A predictor gets only calls that
    have all of its fields, and none where the gold gives no such call or the paper shows it none (`zero_shot`).

    Args:
        train: Labelled examples; besides question and answer they may hold other fields of predictors.
        metric: Not used: nothing is run.
        seed: Decides the order in which examples are taken.
        threads: Not used: nothing is run.
        demonstrations: The most for each predictor. BlendFilter: 3 (appendix D), after ITER-RETGEN. MIGRES: 2 (4.2).
    """
    check_settings(LEAST, train, demonstrations=demonstrations)
    retriever = getattr(program, "retriever", None)
    labels = [labelled_calls(example, retriever) for example in random.Random(seed).sample(train, len(train))]
    compiled = program.reset_copy()
    predictors = dict(compiled.named_predictors())
    for name, shown in for_predictors(program, labels, demonstrations).items():
        predictors[name].demos = [demonstration for _, demonstration in shown]
    return compiled
