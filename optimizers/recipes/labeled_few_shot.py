"""Demonstrations taken from labelled examples: the papers' few-shot settings."""

import random
from collections.abc import Sequence

import dspy
from dspy.teleprompt import LabeledFewShot

from eval.metrics import Metric
from optimizers.demonstrations import demonstrations_for, labelled_calls
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
    """Give every predictor labelled examples, drawn at random.

    `optimizers.demonstrations.labelled_calls` makes them from the gold, with the program's retriever. A question can
    give a predictor several calls, such as one with enough facts and one without. Such questions are preferred if there
    are enough of them, and the demonstrations then show the calls in turn. A predictor that no call fits gets none.

    Args:
        train: Labelled examples; besides question and answer they may hold other fields of predictors.
        metric: Not used: nothing is run.
        seed: Decides the order in which DSPy gets the examples; its own seed is fixed.
        threads: Not used: nothing is run.
        demonstrations: The most for each predictor. BlendFilter: 3 (appendix D), after ITER-RETGEN. MIGRES: 2 (4.2).
    """
    check_settings(LEAST, train, demonstrations=demonstrations)
    retriever = getattr(program, "retriever", None)
    labels = [labelled_calls(example, retriever) for example in random.Random(seed).sample(train, len(train))]
    compiled = program.reset_copy()
    for name, predictor in program.named_predictors():
        fit = demonstrations_for(predictor.signature, labels)
        most = max(map(len, fit), default=0)
        several = [calls for calls in fit if len(calls) == most]
        chosen = several if len(several) >= demonstrations else fit
        # Compiled one by one, because DSPy draws from the same examples for all predictors of what it compiles.
        examples = [dspy.Example(calls=calls) for calls in chosen]
        drawn = LabeledFewShot(k=demonstrations).compile(predictor, trainset=examples).demos
        demos = [example.calls[n % len(example.calls)] for n, example in enumerate(drawn)]
        dict(compiled.named_predictors())[name].demos = demos
    return compiled
