"""Instructions that the LM rewrites after it was told, predictor by predictor, what went wrong."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import GEPA

from eval.metrics import Metric
from optimizers._feedback import explained
from optimizers._programs import enough, with_prompts_of

__all__ = ["LEAST", "compile"]

LEAST = {"train": 2, "evaluations": 1, "reflect": 1}


def compile(
    program: dspy.Module,
    train: Sequence[dspy.Example],
    metric: Metric,
    seed: int = 0,
    threads: int = 8,
    *,
    evaluations: int = 8,
    reflect: int = 3,
) -> dspy.Module:
    """Let the LM reflect on runs of the first half of the examples, and judge what it writes by the second half.

    What it is told of each predictor's part in a run comes from `optimizers.explained`. DSPy's checkpoints, which are
    pickles, are not used.

    Args:
        program: The program; stays as it is.
        train: Questions with gold answers.
        metric: Judges the answers.
        seed: Of the drawing of questions and of candidates to go on with.
        threads: Questions in flight at the same time.
        evaluations: When to stop: when the program was run so many times as often as there are examples.
        reflect: Runs that the LM is shown at a time.

    Raises:
        UsageError: there are too few examples, or a setting is below its `LEAST`.
    """
    enough(LEAST, train, evaluations=evaluations, reflect=reflect)
    optimizer = GEPA(
        metric=explained(metric),
        max_full_evals=evaluations,
        reflection_minibatch_size=reflect,
        reflection_lm=dspy.settings.lm,
        num_threads=threads,
        seed=seed,
    )
    half = len(train) // 2
    compiled = optimizer.compile(_told_apart(program), trainset=list(train[:half]), valset=list(train[half:]))
    return with_prompts_of(compiled, program)


def _told_apart(program: dspy.Module) -> dspy.Module:
    """A copy with no signature twice: DSPy finds a predictor's calls among those of a run by its signature, and so
    would take BlendFilter's draft for its answer. The prefixes that differ are not in prompts."""
    copy = program.deepcopy()
    for name, predictor in copy.named_predictors():
        last = list(predictor.signature.output_fields)[-1]
        predictor.signature = predictor.signature.with_updated_fields(last, prefix=f"{name}:")
    return copy
