"""Compiling in the small world of `learning_lm`, with settings so small that every recipe is quick."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.learning_lm import HELD_OUT, TRAIN
from support.scripted import engine_lm

from eval.metrics import em
from optimizers import load, why_no_state
from optimizers.optimize import Outcome, optimize

__all__ = ["SETTINGS", "compiled", "recipes_but"]

SETTINGS: dict[str, dict[str, Any]] = {
    "labeled_few_shot": {},
    "bootstrap_few_shot": {},
    "bootstrap_random_search": {"candidates": 1},
    "knn_few_shot": {"neighbours": 6},
    "copro": {"breadth": 2, "depth": 2},
    "mipro_v2": {"candidates": 3, "trials": 4},
    "simba": {"batch_size": 6, "candidates": 2, "batches": 1},
    "gepa": {"evaluations": 3},
    "combined": {"candidates": 1},
}
"""Small settings of each recipe."""


def recipes_but(*left_out: str) -> list[Any]:
    """All recipes but these, as the parameters of a test, each with a mark that says what it needs."""
    needed = {"mipro_v2": [pytest.mark.needs("optuna")]}
    return [pytest.param(name, marks=needed.get(name, [])) for name in sorted(SETTINGS) if name not in left_out]


def compiled(
    recipe: str,
    program: dspy.Module,
    engine: Any,
    directory: Path,
    settings: Mapping[str, Any] = {},
    **more: Any,
) -> Outcome:
    """Compile the program with this LM. The state file is `state.json` in the directory.

    Args:
        recipe: The recipe's name.
        program: The program.
        engine: The LM's engine.
        directory: For everything that is written.
        settings: The recipe's settings, where they differ from SETTINGS.
        more: Arguments of `optimize`, where they differ from those of the small world.
    """
    usual = {"train": TRAIN, "held_out": HELD_OUT, "metric": em, "threads": 2}
    out = None if why_no_state(recipe) else directory / "state.json"
    with dspy.context(lm=engine_lm(engine)):
        return optimize(
            program,
            partial(load(recipe), **{**SETTINGS[recipe], **settings}),
            directory=directory / "runs",
            **{**usual, "out": out, **more},
        )
