"""From a program to a state file, judged before and after on questions that the recipe never sees."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import dspy
from dspy.clients import base_lm
from dspy.utils.exceptions import AdapterParseError

from eval.figures.summary import Figures, Score, Summary
from eval.metrics import Metric, standard
from eval.metrics.squad import normalise
from eval.runs.recorded_calls import Calls, Limits, Stopped
from eval.runs.runner import evaluate
from optimizers._failures import Failures, line
from optimizers._parts import Traced, part_metrics
from optimizers._programs import choose, restricted, whole
from programs.instruments.cost import Cost, measured
from programs.instruments.state import check_writable, save_state
from retrieval import OdqaError, UsageError

__all__ = ["Outcome", "optimize"]

_LM_CALLS = 32  # under way at the same time, while compiling
_COSTS = ("lm_calls", "searches", "input_tokens", "output_tokens", "usd")


@dataclass(frozen=True)
class Outcome:
    """What came of compiling."""

    program: dspy.Module
    before: Summary
    """The program as it was, on the held-out questions."""
    after: Summary
    """The compiled program on the same questions."""
    parts: dict[str, tuple[Score | None, Score | None]]
    """How well each predictor does its part, before and after, as `optimizers._parts` judges it; None where the gold
    says nothing of it."""
    cost: Cost
    """Of compiling alone, all sittings together."""
    failures: str
    """How many runs failed while compiling, which counted as wrong answers, and the first error; empty for none."""


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
        clean: Applied to the messages of errors before they are written; see `eval.runs.runner.evaluate`.

    Raises:
        UsageError: a question is in both parts, a name is no predictor's, the directory holds other runs, or it or the
            state file cannot be written.
        OdqaError: a limit was reached, the LM's provider failed, too many runs failed, or so many of the held-out
            questions that they cannot be judged by.
    """
    if shared := {normalise(e.question) for e in train} & {normalise(e.question) for e in held_out}:
        raise UsageError(f"{len(shared)} questions are both learned from and held out, such as {min(shared)!r}")
    names = choose(program, only=only, freeze=freeze)
    if out is not None:
        check_writable(out)
    directory = Path(directory)
    metrics = list(dict.fromkeys([*standard(held_out), metric]))
    about = {
        **(manifest or {}),
        "metric": metric.__name__,
        "seed": seed,
        "learning": names,
        "data": {"train": _data_fingerprint(train), "held_out": _data_fingerprint(held_out)},
    }
    judge = partial(_judged, held_out=held_out, metrics=metrics, threads=threads, clean=clean)
    before, parts_before = judge(program, directory=directory / "before", manifest=about)
    compiled, cost, failures = _compiled(
        restricted(program, names),
        partial(recipe, seed=seed, threads=threads),
        train,
        metric,
        directory=directory / "compiling",
        limits=limits,
        clean=clean,
    )
    manifest_after = {**about, "compiled": _fingerprint(compiled)}
    after, parts_after = judge(compiled, directory=directory / "after", manifest=manifest_after)
    parts = {name: (parts_before.get(name), parts_after.get(name)) for name, _ in program.named_predictors()}
    if out is not None:
        record = {
            **about,
            "train": [example.id for example in train],
            "held_out": [example.id for example in held_out],
            "before": _scores(before),
            "after": _scores(after),
            "parts": {
                name: {"before": old and asdict(old), "after": new and asdict(new)}
                for name, (old, new) in parts.items()
            },
            "compiling": {
                **{name: getattr(cost, name) for name in _COSTS},
                "failures": failures,
            },
            "versions": after.manifest["versions"],
        }
        save_state(compiled, out, record)
    return Outcome(compiled, before, after, parts, cost, failures)


def _judged(
    program: dspy.Module, *, held_out: Sequence[dspy.Example], metrics: Sequence[Metric], **how: Any
) -> tuple[Summary, dict[str, Score]]:
    """What the program is worth on the held-out questions, and how well its predictors do their parts."""
    parts = part_metrics(program)
    summary = evaluate(Traced(program), held_out, metrics=[*metrics, *parts.values()], **how)
    if not summary.complete or summary.total.failed == summary.total.n:
        raise OdqaError(
            f"{summary.total.failed} of {len(held_out)} held-out questions failed, the first with "
            f"{summary.first_error}; mend that, and the same command with its directory goes on"
        )
    scores = {name: summary.total.scores.get(part.__name__) for name, part in parts.items()}

    def whole_alone(figures: Figures) -> Figures:
        names = [metric.__name__ for metric in metrics]
        return replace(figures, scores={name: figures.scores[name] for name in names if name in figures.scores})

    by_type = {type_: whole_alone(figures) for type_, figures in summary.by_type.items()}
    shown = replace(summary, total=whole_alone(summary.total), by_type=by_type)
    return shown, {name: score for name, score in scores.items() if score is not None}


def _compiled(
    program: dspy.Module,
    recipe: Callable[..., dspy.Module],
    train: Sequence[dspy.Example],
    metric: Metric,
    *,
    directory: Path,
    limits: Limits,
    clean: Callable[[str], str],
) -> tuple[dspy.Module, Cost, str]:
    """The whole program with what the recipe made of the restricted one, what it cost, and what failed."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot use {directory}: {error.strerror}") from None
    calls = Calls(directory / "calls.jsonl", done=set(), at_once=_LM_CALLS, limits=limits)
    failures = Failures(type(program).__mro__[1], calls)
    compiled = None
    trouble: Exception | None = None
    try:
        with (
            calls.kept(),
            calls.of("compiling"),
            measured() as cost,
            _little_kept(),
            dspy.context(callbacks=[*dspy.settings.callbacks, failures]),
        ):
            try:
                compiled = whole(recipe(program, train, metric=failures.watched(metric)))
            except KeyboardInterrupt:
                calls.stop("interrupted")  # what still runs in DSPy's threads ends at its next LM call
                raise
    except Stopped:
        pass
    except Exception as error:
        trouble = error
    go_on = f"{directory.parent} for its directory it goes on, and pays nothing twice"
    if failures.ended(trouble):
        raise OdqaError(clean(f"{failures}; mend that, and with {go_on}")) from failures.first
    if calls.stopped:
        first = "mend that, and with" if failures.lm else "with a higher limit and"
        raise OdqaError(clean(f"{calls.stopped}, and the recipe has not ended; {first} {go_on}")) from trouble
    if isinstance(trouble, AdapterParseError):
        raise OdqaError(clean(f"the recipe cannot read what the LM writes for it ({line(trouble)})")) from trouble
    if trouble is not None:
        raise trouble
    assert compiled is not None
    return compiled, cost, clean(str(failures))


@contextmanager
def _little_kept() -> Iterator[None]:
    """Have DSPy keep no more than the last prompt: it would keep 10,000, also in every copy of every predictor, and as
    many calls in a trace that no optimizer looks at; they make their own."""
    usual = base_lm.MAX_HISTORY_SIZE
    base_lm.MAX_HISTORY_SIZE = 1
    try:
        with dspy.context(max_history_size=1, trace=None):
            yield
    finally:
        base_lm.MAX_HISTORY_SIZE = usual


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
