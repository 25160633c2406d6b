"""Demonstrations taken from labelled examples: the papers' few-shot settings."""

import random
from collections.abc import Sequence

import dspy
from dspy.teleprompt import LabeledFewShot

from eval.metrics import Metric
from optimizers._demonstrations import fitting, labelled
from optimizers._programs import enough

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

    What the gold says of a predictor's part is found with the program's retriever: see
    `optimizers._demonstrations.labelled`. Where that gives several calls of a predictor for a question, as with and
    without enough facts, such questions are drawn, if there are enough of them, and the demonstrations show the calls
    in turn. A predictor that none fits stays without.

    Args:
        program: The program; stays as it is.
        train: Labelled examples; besides question and answer they may have other fields of predictors.
        metric: Not used: nothing is run.
        seed: Of the drawing: of the order in which DSPy, whose own seed is fixed, gets the examples.
        threads: Not used.
        demonstrations: For each predictor, at most. BlendFilter: 3 (appendix D), after ITER-RETGEN. MIGRES: 2 (4.2).

    Raises:
        UsageError: a setting is below its `LEAST`.
    """
    enough(LEAST, train, demonstrations=demonstrations)
    retriever = getattr(program, "retriever", None)
    labels = [labelled(example, retriever) for example in random.Random(seed).sample(train, len(train))]
    compiled = program.reset_copy()
    for name, predictor in program.named_predictors():
        fit = fitting(predictor.signature, labels)
        sides = max(map(len, fit), default=0)
        several = [calls for calls in fit if len(calls) == sides]
        chosen = several if len(several) >= demonstrations else fit
        # Compiled by itself: DSPy draws from one set of examples for all the predictors of what it compiles.
        examples = [dspy.Example(calls=calls) for calls in chosen]
        drawn = LabeledFewShot(k=demonstrations).compile(predictor, trainset=examples).demos
        demos = [example.calls[n % len(example.calls)] for n, example in enumerate(drawn)]
        dict(compiled.named_predictors())[name].demos = demos
    return compiled
