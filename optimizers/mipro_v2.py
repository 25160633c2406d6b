"""Instructions and demonstrations chosen together, by Bayesian search over candidates of both."""

import importlib.util
import warnings
from collections.abc import Sequence

import dspy
from dspy.teleprompt import MIPROv2

from eval.metrics import Metric
from optimizers._programs import enough, number_of, with_prompts_of
from retrieval import UsageError

__all__ = ["LEAST", "compile"]

# A fifth of the examples is to make candidates from.
LEAST = {"train": 5, "demonstrations": 0, "candidates": 1, "trials": 1, "novelty": 0}
_BATCH = 35  # questions that a trial is judged by, where there are more


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
    """Make candidates from a fifth of the examples, and search for the best combination by the others.

    Needs optuna, which the extra `optimizers` installs.

    Args:
        program: The program; stays as it is.
        train: Questions with gold answers.
        metric: Judges the answers; only the full score, 1, makes a demonstration.
        seed: Of the search and of the choice of demonstrations and of hints for the LM.
        threads: Questions in flight while a combination is judged.
        demonstrations: In a candidate at most; 0 for instructions alone.
        candidates: Instructions, and sets of demonstrations, for each predictor, what it has among them.
        trials: Combinations to try.
        novelty: Temperature with which the LM writes instructions.

    Raises:
        UsageError: optuna is not installed, there are too few examples, or a setting is below its `LEAST`.
    """
    enough(LEAST, train, demonstrations=demonstrations, candidates=candidates, trials=trials, novelty=novelty)
    if importlib.util.find_spec("optuna") is None:
        raise UsageError("mipro_v2 needs optuna: install dspy-odqa with the extra optimizers")
    from optuna.exceptions import ExperimentalWarning

    optimizer = MIPROv2(
        metric=number_of(metric),
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
        warnings.simplefilter("ignore", ExperimentalWarning)  # of the sampler that DSPy chose
        compiled = optimizer.compile(
            program, trainset=list(train), num_trials=trials, minibatch=len(train) * 4 // 5 > _BATCH
        )
    return with_prompts_of(compiled, program)
