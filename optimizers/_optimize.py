"""From a program to a state file, judged before and after on questions that the recipe never sees."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dspy

from eval.calls import Calls, Limits, Stopped
from eval.metrics import Metric, standard
from eval.metrics.squad import normalise
from eval.run import evaluate
from eval.summary import Summary
from optimizers._programs import choose, restricted, whole
from programs._cost import Cost, measured
from programs._state import save_state
from retrieval import OdqaError, UsageError

__all__ = ["Outcome", "optimize"]

_LM_CALLS = 32  # under way at the same time, while compiling


@dataclass(frozen=True)
class Outcome:
    """What came of compiling."""

    program: dspy.Module
    before: Summary
    """The program as it was, on the held-out questions."""
    after: Summary
    """The compiled program on the same questions."""
    cost: Cost
    """Of compiling alone, all sittings together."""


def optimize(
    program: dspy.Module,
    recipe: Callable[..., dspy.Module],
    *,
    train: Sequence[dspy.Example],
    held_out: Sequence[dspy.Example],
    metric: Metric,
    out: str | Path | None,
    directory: str | Path,
    seed: int = 0,
    threads: int = 8,
    only: Sequence[str] = (),
    freeze: Sequence[str] = (),
    limits: Limits = Limits(),  # noqa: B008  # it is immutable
    manifest: dict[str, Any] | None = None,
    clean: Callable[[str], str] = str,
) -> Outcome:
    """Compile the program, judge it before and after, and write its state with a manifest of how it came about.

    When it was cut short, the same call goes on where it stopped: every LM call that was answered is in the directory,
    and the recipe, which does the same again, gets these replies instead of paying for new ones. This holds for every
    recipe, since DSPy's optimizers draw at random by seeds alone.

    Args:
        program: The program; stays as it is.
        recipe: What compiles it; called as `optimizers.Recipe` says.
        train: What the recipe learns from.
        held_out: What the program is judged by.
        metric: What the recipe goes by.
        out: The state file to write; None for none.
        directory: Where the two runs of the evaluation go, `before` and `after`, and the LM calls of compiling.
        seed: Of the recipe.
        threads: Questions in flight at the same time.
        only: Names of predictors, or of modules for all predictors in them, that are to learn; none for all.
        freeze: Names of those that are to stay as they are.
        limits: When to stop compiling; the two evaluations do not count.
        manifest: What is to be recorded of LM, task, recipe and so on; values that JSON can hold, no secrets. It is
            what tells this call from others when it is to go on.
        clean: Applied to the messages of errors before they are written; see `eval.run.evaluate`.

    Raises:
        UsageError: a question is in both parts, a name is no predictor's, or the directory holds other runs or cannot
            be written.
        OdqaError: a limit was reached, or every held-out question failed before compiling.
    """
    if shared := {normalise(e.question) for e in train} & {normalise(e.question) for e in held_out}:
        raise UsageError(f"{len(shared)} questions are both learned from and held out, such as {min(shared)!r}")
    names = choose(program, only=only, freeze=freeze)
    directory = Path(directory)
    metrics = list(dict.fromkeys([*standard(held_out), metric]))
    about = {
        **(manifest or {}),
        "metric": metric.__name__,
        "seed": seed,
        "learning": names,
        "data": {"train": _data_fingerprint(train), "held_out": _data_fingerprint(held_out)},
    }
    judge = partial(evaluate, metrics=metrics, threads=threads, clean=clean)
    before = judge(program, held_out, directory=directory / "before", manifest=about)
    if before.total.failed == before.total.n:
        raise OdqaError(f"there is nothing to learn from: every question failed, the first with {before.first_error}")
    compiled, cost = _compiled(
        lambda: whole(recipe(restricted(program, names), train, metric=metric, seed=seed, threads=threads)),
        directory / "compiling",
        limits,
    )
    manifest_after = {**about, "compiled": _fingerprint(compiled)}
    after = judge(compiled, held_out, directory=directory / "after", manifest=manifest_after)
    if out is not None:
        record = {
            **about,
            "train": [example.id for example in train],
            "held_out": [example.id for example in held_out],
            "before": _scores(before),
            "after": _scores(after),
            "compiling": {
                name: getattr(cost, name) for name in ("lm_calls", "searches", "input_tokens", "output_tokens", "usd")
            },
            "versions": after.manifest["versions"],
        }
        save_state(compiled, out, record)
    return Outcome(compiled, before, after, cost)


def _compiled(recipe: Callable[[], dspy.Module], directory: Path, limits: Limits) -> tuple[dspy.Module, Cost]:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot use {directory}: {error.strerror}") from None
    calls = Calls(directory / "calls.jsonl", done=set(), at_once=_LM_CALLS, limits=limits)
    try:
        with calls.kept(), calls.of("compiling"), measured() as cost:
            compiled = recipe()
    except Stopped:
        raise OdqaError(
            f"{calls.stopped}, and the recipe has not ended; with a higher limit and {directory.parent} for its "
            "directory it goes on, and pays nothing twice"
        ) from None
    return compiled, cost


def _fingerprint(program: dspy.Module) -> str:
    return hashlib.sha256(json.dumps(program.dump_state(), sort_keys=True, default=str).encode()).hexdigest()


def _data_fingerprint(examples: Sequence[dspy.Example]) -> str:
    plain = [dict(example.items()) for example in examples]
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()


def _scores(summary: Summary) -> dict[str, Any]:
    total = summary.total
    return {
        "n": total.n,
        "failed": total.failed,
        "scores": {name: asdict(score) for name, score in total.scores.items()},
    }
