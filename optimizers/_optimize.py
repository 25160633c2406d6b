"""From a program to a state file, judged before and after on questions that the recipe never sees."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy

from eval.metrics import STANDARD, Metric
from eval.run import evaluate
from eval.summary import Summary
from optimizers import Recipe
from programs._cost import Cost, measured
from programs._state import save_state

__all__ = ["Outcome", "optimize"]


@dataclass(frozen=True)
class Outcome:
    """What came of compiling."""

    program: dspy.Module
    before: Summary
    """The program as it was, on the held-out questions."""
    after: Summary
    """The compiled program on the same questions."""
    cost: Cost
    """Of compiling alone."""


def optimize(
    program: dspy.Module,
    recipe: Recipe,
    *,
    train: Sequence[dspy.Example],
    held_out: Sequence[dspy.Example],
    metric: Metric,
    out: str | Path,
    directory: str | Path,
    threads: int = 8,
    manifest: dict[str, Any] | None = None,
) -> Outcome:
    """Compile the program, judge it before and after, and write its state with a manifest of how it came about.

    Args:
        program: The program; stays as it is.
        recipe: What compiles it.
        train: What the recipe learns from.
        held_out: What the program is judged by; none of it is in `train`.
        metric: What the recipe goes by.
        out: The state file to write.
        directory: Where the two runs of the evaluation go, `before` and `after`.
        threads: Questions in flight at the same time while judging.
        manifest: What is to be recorded of LM, task and so on; values that JSON can hold, no secrets.

    Raises:
        UsageError: the directory holds other runs or cannot be written.
    """
    directory = Path(directory)
    about = dict(manifest or {})
    before = evaluate(
        program, held_out, metrics=STANDARD, directory=directory / "before", threads=threads, manifest=about
    )
    with measured() as cost:
        compiled = recipe(program, train, metric=metric)
    after = evaluate(
        compiled,
        held_out,
        metrics=STANDARD,
        directory=directory / "after",
        threads=threads,
        manifest={**about, "compiled": _fingerprint(compiled)},
    )
    save_state(
        compiled,
        out,
        {
            **about,
            "metric": metric.__name__,
            "train": [example.id for example in train],
            "held_out": [example.id for example in held_out],
            "before": _scores(before),
            "after": _scores(after),
            "compiling": {"lm_calls": cost.lm_calls, "searches": cost.searches},
            "versions": after.manifest["versions"],
        },
    )
    return Outcome(compiled, before, after, cost)


def _fingerprint(program: dspy.Module) -> str:
    return hashlib.sha256(json.dumps(program.dump_state(), sort_keys=True, default=str).encode()).hexdigest()


def _scores(summary: Summary) -> dict[str, float]:
    total = summary.total
    return {"n": total.n, "failed": total.failed, **{name: score.mean for name, score in total.scores.items()}}
