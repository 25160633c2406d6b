"""Instructions that the LM rewrites after it was told, predictor by predictor, what went wrong."""

from collections.abc import Sequence

import dspy
from dspy.teleprompt import GEPA

from eval.metrics import Metric
from optimizers.feedback import explained
from optimizers.recipe import check_settings, copy_with_prompts

__all__ = ["LEAST", "WRITES", "compile"]

LEAST = {"train": 2, "evaluations": 1, "reflect": 1}

WRITES = "has the LM rewrite instructions"


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
    """Let the LM reflect on runs over the first half of the examples; the second half judges what it writes.

    `optimizers.explained` tells it what each predictor did in a run. DSPy's checkpoints are pickles and are not used.

    Args:
        seed: Decides which questions are drawn and which candidates are developed further.
        evaluations: The budget: the number of runs of the program, divided by the number of examples.
        reflect: How many runs the LM is shown at a time.
    """
    check_settings(LEAST, train, evaluations=evaluations, reflect=reflect)
    optimizer = GEPA(
        metric=explained(metric),
        max_full_evals=evaluations,
        reflection_minibatch_size=reflect,
        reflection_lm=dspy.settings.lm,
        num_threads=threads,
        seed=seed,
    )
    half = len(train) // 2
    compiled = optimizer.compile(
        _with_distinct_signatures(program), trainset=list(train[:half]), valset=list(train[half:])
    )
    return copy_with_prompts(program, compiled)


def _with_distinct_signatures(program: dspy.Module) -> dspy.Module:
    """A copy in which no two predictors have equal signatures.

    DSPy finds a predictor's calls in a run by its signature, and so would take BlendFilter's draft for its answer. The
    signatures are made to differ in a prefix, which no prompt shows.
    """
    copy = program.deepcopy()
    for name, predictor in copy.named_predictors():
        last = list(predictor.signature.output_fields)[-1]
        predictor.signature = predictor.signature.with_updated_fields(last, prefix=f"{name}:")
    return copy
