"""Recipes that turn a program, examples and a metric into a state file: one file each, over DSPy's teleprompters.

from optimizers import load
compiled = load("bootstrap_few_shot")(program, train, metric=em)
"""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any, Protocol, cast

import dspy

from eval.metrics import Metric
from optimizers._feedback import explained, filter_f1
from optimizers._programs import enough
from retrieval import UsageError

__all__ = ["Recipe", "check", "explained", "filter_f1", "load", "names", "why_no_state"]


class Recipe(Protocol):
    """What every recipe is. The program that comes back is a new one; the retriever is shared, not copied.

    A recipe's own settings are keyword-only arguments with defaults, and flags of `python -m optimizers`.
    """

    def __call__(
        self, program: dspy.Module, train: Sequence[dspy.Example], metric: Metric, seed: int = 0, threads: int = 8
    ) -> dspy.Module: ...


def names() -> list[str]:
    """Names of the recipes, which are the names of their modules, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def load(name: str) -> Recipe:
    """The recipe with this name.

    Raises:
        UsageError: there is no such recipe.
    """
    if name not in names():
        raise UsageError(f"there is no recipe {name!r}; there are: {', '.join(names())}")
    return cast(Recipe, importlib.import_module(f"optimizers.{name}").compile)


def check(name: str, train: Sequence[dspy.Example], **settings: Any) -> None:
    """Check the recipe's settings, as the recipe itself would, before anything is paid for.

    Raises:
        UsageError: there are too few questions to learn from, or a setting is too small.
    """
    enough(importlib.import_module(f"optimizers.{name}").LEAST, train, **settings)


def why_no_state(name: str) -> str | None:
    """Why no state file can hold what this recipe makes; None for those whose states can be saved."""
    return getattr(importlib.import_module(f"optimizers.{name}"), "NO_STATE", None)
