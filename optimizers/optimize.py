"""Compiles a program into a state file, and judges it before and after on questions that the recipe never sees."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

from eval.figures.summary import Figures, Score, Summary
from eval.metrics import Metric, standard
from eval.metrics.gold import normalise
from eval.records.run import CallLog
from eval.runs.recorded_calls import RecordedCalls, Stopped
from eval.runs.runner import evaluate, questions_at_once
from eval.runs.store import making
from odqa.cluster import Workers
from odqa.limits import Limiter
from optimizers.failures import Failures, one_line
from optimizers.predictor_metrics import Traced, predictor_metrics
from optimizers.predictors import learning, restricted, unrestricted
from programs.instruments.cost import Cost, measured
from programs.instruments.state import check_writable, save_state
from retrieval import OdqaError, UsageError

__all__ = ["Compiled", "Outcome", "compiled_by", "optimize"]

_MOST_CALLS = 32  # LM calls under way at the same time while compiling
_COSTS = ("lm_calls", "searches", "input_tokens", "output_tokens", "usd")


@dataclass(frozen=True)
class Compiled:
    """A compiled program and what compiling it took."""

    program: dspy.Module
    cost: Cost
    """The cost of compiling alone, over all sittings."""
    paid_calls: int
    """The LM calls that compiling paid for, over all sittings: those that its limit counts. A recipe may ask the same
    again, which is answered from the record."""
    failures: str
    """How many runs failed while compiling, which counted as wrong answers, and the first error; may be empty."""


@dataclass(frozen=True)
class Outcome(Compiled):
    """The compiled program, and how it compares with the program as it was."""

    before: Summary
    """The program as it was, on the held-out questions."""
    after: Summary
    """The compiled program on the same questions."""
    parts: dict[str, tuple[Score | None, Score | None]]
    """The score of each predictor before and after, from `optimizers.predictor_metrics`; None if it is undefined."""


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
    threads: int | None = None,
    lm_calls: int | None = None,
    workers: Workers | None = None,
    only: Sequence[str] = (),
    freeze: Sequence[str] = (),
    limiter: Limiter | None = None,
    cache: bool = False,
    manifest: dict[str, Any] | None = None,
) -> Outcome:
    """Compile the program, judge it before and after, and write its state with a manifest of how it was made.

    After an interruption the same call goes on where it stopped. Every LM call that was answered is in the directory;
    the recipe repeats its steps and gets these replies instead of paying for new ones. This works for every recipe,
    because DSPy's optimizers draw at random only by seeds.

    Args:
        program: The program; stays as it is.
        recipe: Compiles it; an `optimizers.Recipe`.
        train: The questions that the recipe learns from.
        held_out: The questions that the program is judged by.
        metric: The score that the recipe improves.
        out: The state file to write; None for none.
        directory: Holds the two evaluations, `before` and `after`, and the LM calls of compiling.
        seed: The recipe's seed.
        threads: See `eval.runs.request.Pace`; `lm_calls` and `workers` hold while the program is judged.
        only: Names of predictors that are to learn, or of modules for all predictors in them; empty for all.
        freeze: Names, in the same form, of those that are to stay as they are.
        limiter: When to stop compiling, None for never; the two evaluations do not count.
        cache: Use the replies in DSPy's cache, and add to it. Without it, what a recipe asks again word by word still
            gets the first reply, from the directory, if the LM's cache is on.
        manifest: A record of the LM, the task and so on, as JSON without secrets; the same when a call goes on.

    Raises:
        UsageError: a question is in both parts, no predictor has a name that is given, the directory holds other runs,
            or the directory or the state file cannot be written.
        OdqaError: a limit was reached, the LM's provider failed, or too many runs or held-out questions failed.
    """
    if shared := {normalise(e.question) for e in train} & {normalise(e.question) for e in held_out}:
        raise UsageError(f"{len(shared)} questions are both learned from and held out, such as {min(shared)!r}")
    names = learning(program, only=only, freeze=freeze)
    if out is not None:
        check_writable(out)
    directory = Path(directory)
    about = {
        **(manifest or {}),
        "metric": metric.__name__,
        "seed": seed,
        "learning": names,
        "data": {"train": _data_fingerprint(train), "held_out": _data_fingerprint(held_out)},
    }
    judge = partial(
        _judged,
        held_out=held_out,
        metrics=list(dict.fromkeys([*standard(held_out), metric])),
        threads=threads,
        lm_calls=lm_calls,
        workers=workers,
        cache=cache,
    )
    before, parts_before = judge(program, directory=directory / "before", manifest=about)
    with making(directory / "compiling"):
        made = compiled_by(
            restricted(program, names),
            partial(recipe, seed=seed, threads=threads or questions_at_once()),
            train,
            metric,
            directory=directory / "compiling",
            limiter=limiter or Limiter(),
            cache=cache,
        )
    manifest_after = {**about, "compiled": _fingerprint(made.program)}
    after, parts_after = judge(made.program, directory=directory / "after", manifest=manifest_after)
    parts = {name: (parts_before.get(name), parts_after.get(name)) for name, _ in program.named_predictors()}
    outcome = Outcome(before=before, after=after, parts=parts, **vars(made))
    if out is not None:
        save_state(made.program, out, {**about, **_record(outcome, train, held_out)})
    return outcome


def _record(outcome: Outcome, train: Sequence[dspy.Example], held_out: Sequence[dspy.Example]) -> dict[str, Any]:
    """What the manifest of the state file says of how it came about."""
    return {
        "train": [example.id for example in train],
        "held_out": [example.id for example in held_out],
        "before": _scores(outcome.before),
        "after": _scores(outcome.after),
        "parts": {
            name: {"before": old and asdict(old), "after": new and asdict(new)}
            for name, (old, new) in outcome.parts.items()
        },
        "compiling": {**{name: getattr(outcome.cost, name) for name in _COSTS}, "failures": outcome.failures},
        "versions": outcome.after.manifest.versions,
    }


def _judged(
    program: dspy.Module, *, held_out: Sequence[dspy.Example], metrics: Sequence[Metric], **how: Any
) -> tuple[Summary, dict[str, Score]]:
    """The scores of the program on the held-out questions, and those of its predictors."""
    parts = predictor_metrics(program)
    summary = evaluate(Traced(program), held_out, metrics=[*metrics, *parts.values()], **how)
    if not summary.complete or summary.total.failed == summary.total.n:
        raise OdqaError(
            f"{summary.total.failed} of {len(held_out)} held-out questions failed, the first with "
            f"{summary.first_error}; mend that and start again with the same directory: it goes on"
        )
    scores = summary.total.scores
    part_scores = {name: scores[part.__name__] for name, part in parts.items() if part.__name__ in scores}
    names = {metric.__name__ for metric in metrics}

    def without_parts(figures: Figures) -> Figures:
        return replace(figures, scores={name: score for name, score in figures.scores.items() if name in names})

    by_type = {type_: without_parts(figures) for type_, figures in summary.by_type.items()}
    return replace(summary, total=without_parts(summary.total), by_type=by_type), part_scores


def compiled_by(
    program: dspy.Module,
    recipe: Callable[..., dspy.Module],
    train: Sequence[dspy.Example],
    metric: Metric,
    *,
    directory: Path,
    limiter: Limiter,
    cache: bool,
) -> Compiled:
    """The compiled program, with all its predictors shown again."""
    log = CallLog(directory / "calls.jsonl")
    calls = RecordedCalls(log, done=set(), at_once=_MOST_CALLS, limiter=limiter, cache=cache, repeats=True)
    failures = Failures(type(program).__mro__[1], calls)
    compiled = None
    trouble: Exception | None = None
    try:
        with (
            calls.recording(),
            calls.for_question("compiling"),
            measured() as cost,
            dspy.context(callbacks=[*dspy.settings.callbacks, failures]),
        ):
            try:
                compiled = unrestricted(recipe(program, train, metric=failures.watch(metric)))
            except KeyboardInterrupt:
                calls.stop("interrupted")  # runs in DSPy's threads end at their next LM call
                raise
    except Stopped:
        pass
    except Exception as error:
        trouble = error
    go_on = f"the directory {directory.parent}: it goes on, and pays nothing twice"
    if failures.caused(trouble):
        raise OdqaError(f"{failures}; mend that and start again with {go_on}") from failures.first
    if calls.trouble is not None:
        raise calls.trouble
    if calls.stopped:
        remedy = "mend that and start again with" if failures.provider_failed else "start again with a higher limit and"
        raise OdqaError(f"{calls.stopped}, and the recipe has not ended; {remedy} {go_on}") from trouble
    if isinstance(trouble, AdapterParseError):
        raise OdqaError(f"the recipe cannot read what the LM writes for it ({one_line(trouble)})") from trouble
    if trouble is not None:
        raise trouble
    assert compiled is not None
    return Compiled(compiled, cost, limiter.paid, str(failures))


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
