"""Recipes that turn a program, examples and a metric into a state file: one file each in `recipes`, over DSPy's
teleprompters.

    from optimizers import load
    compiled = load("bootstrap_few_shot")(program, train, metric=em)

The other modules serve them: `optimize` compiles, judges before and after, and writes the state file; `split` draws the
questions; `demonstrations` and `feedback` say what the gold tells each predictor.
"""

import odqa.interrupts  # noqa: F401  # first: from here on an interrupt ends the process at once

# isort: split
import importlib
import pkgutil
from collections.abc import Sequence
from types import ModuleType
from typing import Any, cast

import dspy

from optimizers import recipes
from optimizers.feedback import explained, filter_f1
from optimizers.recipe import Recipe, check_package, check_settings
from retrieval import UsageError

__all__ = ["Recipe", "check", "explained", "filter_f1", "load", "names", "needs_a_writer", "why_no_state"]


def names() -> list[str]:
    """Names of the recipes, which are the names of their modules, in alphabetical order."""
    return sorted(module.name for module in pkgutil.iter_modules(recipes.__path__))


def load(name: str) -> Recipe:
    """The recipe with this name.

    Raises:
        UsageError: there is no such recipe.
    """
    if name not in names():
        raise UsageError(f"there is no recipe {name!r}; there are: {', '.join(names())}")
    return cast(Recipe, _module(name).compile)


def check(name: str, train: Sequence[dspy.Example], **settings: Any) -> None:
    """Check the recipe's settings and what it needs installed, as it would itself, before anything is paid for.

    Raises:
        UsageError: there are too few questions to learn from, a setting is too small, or a package is not installed.
    """
    if package := getattr(_module(name), "PACKAGE", None):
        check_package(package)
    check_settings(_module(name).LEAST, train, **settings)


def why_no_state(name: str) -> str | None:
    """Why no state file can hold what this recipe makes; None if a state file can."""
    return getattr(_module(name), "NO_STATE", None)


def needs_a_writer(name: str) -> str | None:
    """What the LM has to write for this recipe beside answers; None if nothing."""
    return getattr(_module(name), "WRITES", None)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"optimizers.recipes.{name}")
