"""Instructions and demonstrations chosen together, by Bayesian search over candidates of both."""

import warnings
from collections.abc import Sequence

import dspy
from dspy.teleprompt import MIPROv2

from eval.metrics import Metric
from optimizers.recipe import check_package, check_settings, copy_with_prompts, zero_if_undefined

__all__ = ["LEAST", "PACKAGE", "WRITES", "compile"]

# A fifth of the examples makes the candidates, so there must be five.
LEAST = {"train": 5, "demonstrations": 0, "candidates": 1, "trials": 1, "novelty": 0}

PACKAGE = "optuna"
WRITES = "has the LM write instructions"
_BATCH = 35  # the most questions that judge one trial


def compile(
    program: dspy.Module,
    train: Sequence[dspy.Example],
    metric: Metric,
    seed: int = 0,
    threads: int = 8,
    *,
    demonstrations: int = 3,
    candidates: int = 6,
    trials: int = 20,
    novelty: float = 1.0,
) -> dspy.Module:
    """Make candidates from a fifth of the examples; the others judge which combination of them is best.

    Needs optuna, which the extra `optimizers` installs.

    Args:
        metric: Judges the answers; only the full score, 1, makes a demonstration.
        seed: Decides the search, the choice of demonstrations and the hints for the LM.
        threads: Questions in flight while a combination is judged.
        demonstrations: The most in a candidate; 0 for instructions alone.
        candidates: How many instructions, and how many sets of demonstrations, to try for each predictor, those it has
            included.
        trials: How many combinations to try.
        novelty: The temperature at which the LM writes instructions.

    Raises:
        UsageError: optuna is not installed; or as for every recipe.
    """
    check_settings(LEAST, train, demonstrations=demonstrations, candidates=candidates, trials=trials, novelty=novelty)
    check_package(PACKAGE)
    from optuna.exceptions import ExperimentalWarning

    optimizer = MIPROv2(
        metric=zero_if_undefined(metric),
        metric_threshold=1.0,
        auto=None,
        num_candidates=candidates,
        max_bootstrapped_demos=demonstrations,
        max_labeled_demos=0,
        num_threads=threads,
        seed=seed,
        init_temperature=novelty,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # raised by the sampler that DSPy chose
        compiled = optimizer.compile(
            program, trainset=list(train), num_trials=trials, minibatch=len(train) * 4 // 5 > _BATCH
        )
    return copy_with_prompts(program, compiled)
