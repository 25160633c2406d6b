"""What a recipe is, and what recipes share: checks of settings, metrics and results as DSPy's optimizers need them."""

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import dspy

from eval.metrics import Metric
from retrieval import UsageError

__all__ = ["Recipe", "check_package", "check_settings", "copy_with_prompts", "zero_if_undefined"]


class Recipe(Protocol):
    """Returns a new, compiled program; the retriever is shared, not copied.

    A recipe's own settings are keyword-only arguments with defaults, and flags of `odqa optimize`.

    Args:
        program: The program; stays as it is.
        train: Questions with gold answers, to learn from.
        metric: Judges the answers.
        seed: Decides what is drawn at random.
        threads: Questions in flight at the same time.

    Raises:
        UsageError: there are too few questions, or a setting is too small: see the `LEAST` of the recipe's module.
    """

    def __call__(
        self, program: dspy.Module, train: Sequence[dspy.Example], metric: Metric, seed: int = 0, threads: int = 8
    ) -> dspy.Module: ...


def check_settings(least: Mapping[str, int], train: Sequence[dspy.Example], **settings: Any) -> None:
    """Check a recipe's settings before anything is paid for.

    Args:
        least: The smallest allowed value of each setting, by name; under `train`, the number of questions needed.
        train: The questions to learn from.
        settings: The settings, by name.

    Raises:
        UsageError: there are too few questions, or a setting is too small.
    """
    if len(train) < least["train"]:
        raise UsageError(f"this recipe needs at least {least['train']} questions to learn from, not {len(train)}")
    for name, value in settings.items():
        if name in least and value < least[name]:
            raise UsageError(f"{name.replace('_', '-')} must be at least {least[name]}, not {value}")


def check_package(name: str) -> None:
    """Check that a package of the extra `optimizers` is there.

    Raises:
        UsageError: it is not installed.
    """
    if importlib.util.find_spec(name) is None:
        raise UsageError(f"{name} is not installed, get it by: pip install 'dspy-odqa[optimizers]'")


def zero_if_undefined(metric: Metric) -> Metric:
    """The metric with 0 in place of None, because DSPy's optimizers add scores up.

    This favours no program: whether a metric is undefined depends on the question alone.
    """

    def score(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None, *_: Any) -> float:
        return metric(example, prediction, trace) or 0.0

    score.__name__ = metric.__name__
    return score


def copy_with_prompts(program: dspy.Module, compiled: dspy.Module) -> dspy.Module:
    """A copy of the program with the instructions and demonstrations of the compiled one, and nothing else of it.

    DSPy's optimizers attach every program that they tried to the one that they return. They also put everything that a
    prediction holds into demonstrations, log-probabilities of tokens included.
    """
    made = program.deepcopy()
    learned = dict(compiled.named_predictors())
    for name, predictor in made.named_predictors():
        predictor.signature = predictor.signature.with_instructions(learned[name].signature.instructions)
        kept = {*predictor.signature.fields, "augmented"}
        predictor.demos = [
            dspy.Example({field: value for field, value in demo.items() if field in kept})
            for demo in learned[name].demos
        ]
    return made
