"""Compiles the finalists of a race between methods: what `odqa choose --compile RECIPE` calls."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import dspy

from eval.metrics import Metric
from eval.runs.prepare import Prepared
from eval.runs.runner import questions_at_once
from eval.runs.store import making
from lms.extractive import READER
from odqa.limits import Limiter
from optimizers import check, load, needs_a_writer, why_no_state
from optimizers.optimize import compiled_by
from optimizers.predictors import learning, restricted
from programs.instruments.state import save_state
from retrieval import UsageError

__all__ = ["compiling"]


def compiling(recipe: str, lm: dspy.LM, seed: int) -> tuple[str, Callable[[Prepared, Metric, Path, Limiter], Path]]:
    """The name of a recipe, and a function that compiles a program by it with its usual settings: on the questions that
    are ready, in a directory, within limits. It gives the state file.

    Raises:
        UsageError: there is no such recipe, no state file can hold what it makes, or the LM cannot serve it.
    """
    chosen = load(recipe)
    if reason := why_no_state(recipe):
        raise UsageError(f"{recipe} makes no state file: {reason}")
    if lm.model == READER and (needs := needs_a_writer(recipe)):
        raise UsageError(f"{recipe} {needs}, and the extractive reader is no language model: choose one with --lm")

    def compile_one(ready: Prepared, metric: Metric, directory: Path, limiter: Limiter) -> Path:
        check(recipe, ready.examples)
        with making(directory):
            made = compiled_by(
                restricted(ready.module, learning(ready.module)),
                partial(chosen, seed=seed, threads=ready.request.pace.threads or questions_at_once()),
                ready.examples,
                metric,
                directory=directory,
                limiter=limiter,
                cache=False,
            )
            state = directory / "state.json"
            train = [example.id for example in ready.examples]
            about = {"recipe": recipe, "seed": seed, "metric": metric.__name__, "train": train}
            save_state(made.program, state, about)
        return state

    return recipe, compile_one
