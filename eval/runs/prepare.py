"""From a request to a run: the questions, the retriever, the program and the LM are opened, and the questions asked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import dspy

import lms
import programs
from eval import metrics
from eval.figures.summary import Summary
from eval.records.record import PaidCall, Row
from eval.records.run import Run
from eval.runs.asking import how_asked
from eval.runs.ceiling import is_oracle, load_oracle
from eval.runs.fingerprints import fingerprints
from eval.runs.request import Request
from eval.runs.runner import evaluate
from eval.runs.store import read
from eval.tasks import SEED, load
from eval.tasks.demonstrations.training import Shown, show
from odqa.limits import Limiter
from odqa.secrets import public
from programs.instruments.adapters import load_adapter
from programs.instruments.settings import make, settings_of
from retrieval import OdqaError, Retriever, UsageError
from retrieval import load as load_retriever

__all__ = [
    "AllFailed", "Opened", "Prepared", "adapter", "ask", "demonstrate", "load_lm", "load_metrics",
    "manifest_of", "metric_names", "prepare", "run",
]  # fmt: skip

_OF_ALL_LMS = {"api_base", "temperature", "max_tokens"}  # settings that the oracle ignores


class AllFailed(OdqaError):
    """All questions that were asked failed: the fault is not in the questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A run that can be made."""

    request: Request
    examples: Sequence[dspy.Example]
    retriever: Retriever | None
    module: dspy.Module
    """The program, with its state or its demonstrations."""
    shown: Shown | None
    """These demonstrations."""
    lm: dspy.LM | None
    """None where the program asks none."""
    planner: dspy.LM | None = None
    """The LM of some predictors of the program, where it is another one."""
    answers: bool = True
    """Whether the questions are answered; else only what is found is looked at."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What several runs share is read and opened once."""

    questions: dict[Any, list[dspy.Example]] = field(default_factory=dict)
    retrievers: dict[str, Retriever | None] = field(default_factory=dict)
    lms: dict[str, dspy.LM] = field(default_factory=dict)


def run(request: Request, directory: str | Path) -> Run:
    """Make the run that is asked for, or go on with it, and give it as it is on disk.

    Args:
        request: What is asked for.
        directory: Where the run goes.

    Raises:
        UsageError: the request or the directory cannot be used.
        AllFailed: all questions that were asked failed.
    """
    with adapter(request):
        ready = prepare(request)
        ask(ready, load_metrics(request, ready.examples), directory)
    return read(directory)


def adapter(request: Request) -> AbstractContextManager[None]:
    """A block in which LMs are asked in the form that the request names; a local model as JSON where it names none."""
    name = request.adapter or ("json" if lms.is_local(request.lm) else None)
    return dspy.context(adapter=load_adapter(name, request.structured))  # type: ignore[no-any-return]


def prepare(request: Request, opened: Opened | None = None) -> Prepared:
    """What the request names, opened. To be called in a block of `adapter`.

    Args:
        request: What is asked for.
        opened: What earlier calls have opened; what this one opens is added.

    Raises:
        UsageError: there is no such task, program, retriever or LM, or a setting, the state or the number of
            demonstrations does not fit.
    """
    opened = opened or Opened()
    program = programs.load(request.program)
    asked = (request.task, request.limit, request.data)
    if asked not in opened.questions:
        opened.questions[asked] = load(request.task, request.limit, data=request.data)
    examples = opened.questions[asked]
    if request.retriever not in opened.retrievers:
        none = request.retriever == "none"
        opened.retrievers[request.retriever] = None if none else load_retriever(request.retriever)
    retriever = opened.retrievers[request.retriever]
    module = make(program, retriever, request.settings, request.state)
    shown = demonstrate(module, request, examples)
    key = repr([request.lm, request.lm_settings, request.seed, *([asked, request.retriever] * is_oracle(request.lm))])
    if key not in opened.lms:
        opened.lms[key] = load_lm(request.lm, request.lm_settings, examples, retriever, request.seed)
    return Prepared(
        request=request, examples=examples, retriever=retriever, module=module, shown=shown, lm=opened.lms[key]
    )


def demonstrate(module: dspy.Module, request: Request, examples: Sequence[dspy.Example]) -> Shown | None:
    """Give the program the demonstrations that are asked for.

    Raises:
        UsageError: there is a state too, or they cannot be made.
    """
    if request.demonstrations is None:
        return None
    if request.state:
        raise UsageError("a state file has demonstrations of its own: give --state or --demonstrations, not both")
    return show(module, request.demonstrations, task=request.task, asked=examples, data=request.data)


def load_lm(
    spec: str, settings: Mapping[str, Any], examples: Sequence[dspy.Example], retriever: Retriever | None, seed: int
) -> dspy.LM:
    """The LM of this name. The oracle is made for these questions and this retriever.

    The seed is DSPy's rollout id, by which it tells the replies of one attempt from those of another; 0 for none.

    Raises:
        UsageError: there is no such LM, or a setting does not fit it.
    """
    if is_oracle(spec):
        if further := [name for name in settings if name not in _OF_ALL_LMS]:
            raise UsageError(f"the oracle has no setting {further[0]!r}: leave out --lm-arg")
        return load_oracle(spec, examples, retriever, seed)
    lm = lms.load(spec, **settings)
    return lm.copy(rollout_id=seed) if seed else lm


def metric_names(request: Request, examples: Sequence[dspy.Example]) -> list[str]:
    """The metrics that are asked for, or those that are usual for the questions."""
    usual = [] if request.metrics else [metric.__name__ for metric in metrics.standard(examples)]
    return list(dict.fromkeys(request.metrics or usual))


def load_metrics(
    request: Request, examples: Sequence[dspy.Example], most_calls: int | None = None
) -> list[metrics.Metric]:
    """These metrics. Those with a judge ask it what `eval.metrics.judge` tests it by.

    Raises:
        UsageError: there is no such metric, its judge is not good enough, or testing it takes more than `most_calls`.
    """
    names = metric_names(request, examples)
    return [metrics.load(name, judge_api_base=request.judge_api_base, most_calls=most_calls) for name in names]


def manifest_of(ready: Prepared) -> dict[str, Any]:
    """Everything that can change the answers or the scores, without secrets. What is not named here, such as the pace
    and limits, may change when a run is taken up. The runner adds the metrics, by name, and a hash of the questions."""
    request = ready.request
    settings = {setting.name: setting.default for setting in settings_of(type(ready.module))} | dict(request.settings)
    state = request.state and {"file": request.state, "sha256": sha256(Path(request.state).read_bytes()).hexdigest()}
    asked, plans = (lm and asdict(how_asked(lm)) for lm in (ready.lm, ready.planner))
    against = str(settings.get("against", "none"))
    return {
        "task": request.task,
        "limit": request.limit,
        "sample_seed": SEED,
        "program": request.program,
        "settings": {name: public(value) for name, value in settings.items()},
        "state": state,
        "retriever": public(request.retriever),
        "fingerprints": fingerprints(request.retriever) | fingerprints(against),
        **(asked or {"lm": None}),
        **({"planner": plans} if plans and plans != asked else {}),
        **({} if ready.answers else {"answers": False}),
        "cache": request.cache,
        "judge_api_base": public(request.judge_api_base),
        "seed": request.seed,
        "demonstrations": ready.shown and ready.shown.record(),
    }


def ask(
    ready: Prepared,
    chosen: Sequence[metrics.Metric],
    directory: str | Path,
    *,
    limiter: Limiter | None = None,
    part: slice = slice(None),
    known: Iterable[PaidCall] = (),
    on_row: Callable[[Row], object] = lambda row: None,
) -> Summary:
    """Ask the program the questions; goes on with the run that the directory holds. For the arguments see
    `eval.runs.runner.evaluate`.

    Raises:
        AllFailed: all questions that were asked failed.
        UsageError: the directory cannot be used.
    """
    pace = ready.request.pace
    with dspy.context(lm=ready.lm):
        summary = evaluate(
            ready.module,
            ready.examples,
            metrics=chosen,
            directory=directory,
            threads=pace.threads,
            lm_calls=pace.lm_calls,
            workers=pace.workers,
            retries=pace.retries,
            limiter=limiter,
            part=part,
            known=known,
            cache=ready.request.cache,
            manifest=manifest_of(ready),
            on_row=on_row,
        )
    if summary.total.n and summary.total.failed == summary.total.n:
        raise AllFailed(f"all {summary.total.n} questions that were asked failed, the first with {summary.first_error}")
    return summary
