"""Demonstrations taken from labelled examples: the papers' few-shot settings."""

import random
from collections.abc import Sequence

import dspy
from dspy.teleprompt import LabeledFewShot

from eval.metrics import Metric

__all__ = ["compile"]


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

    A predictor gets only examples that have its last output field, the result, and its input fields, as far as any
    example has them: `optimizers._demonstrations` makes such examples. A predictor that none fits stays without.

    Args:
        program: The program; stays as it is.
        train: Labelled examples; besides question and answer they may have other fields of predictors.
        metric: Not used: nothing is run.
        seed: Of the drawing: of the order in which DSPy, whose own seed is fixed, gets the examples.
        threads: Not used.
        demonstrations: For each predictor, at most. BlendFilter: 3 (appendix D), after ITER-RETGEN.
    """
    train = random.Random(seed).sample(train, len(train))
    available = {field for example in train for field, _ in example.items()}
    compiled = program.reset_copy()
    for name, predictor in program.named_predictors():
        needed = (available & set(predictor.signature.input_fields)) | {list(predictor.signature.output_fields)[-1]}
        fitting = [
            dspy.Example({field: example[field] for field in predictor.signature.fields if field in example})
            for example in train
            if all(field in example for field in needed)
        ]
        # Compiled by itself: DSPy draws from one set of examples for all the predictors of what it compiles.
        chosen = LabeledFewShot(k=demonstrations).compile(predictor, trainset=fitting)
        dict(compiled.named_predictors())[name].demos = chosen.demos
    return compiled
