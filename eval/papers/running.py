"""The rows of a table, run with the caller's LMs and retrievers.

A row is run with the program and the settings that it names, on the questions of each column. The same run is made only
once, whichever tables ask for it: it has a directory of its own, and is taken up from there. A run of `odqa eval` that
asked the same of the same questions stands for it too. Where all columns for a task look at what was found alone, no
answers are asked for.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import dspy

from eval.figures.comparison import best_of
from eval.figures.summary import figures_of
from eval.metrics import Metric
from eval.papers.differences import RowRun, differences
from eval.papers.measuring import (
    Measured,
    NotRun,
    check_judge,
    compute,
    load_metric,
    measure,
    metrics_for,
    needs_answers,
)
from eval.papers.migres_studies import STUDIES, prepared
from eval.papers.questions import Questions, find_questions
from eval.papers.setup import Setup, fill, program_of, settings_of
from eval.papers.tables import Column, Table, TableRow
from eval.records.run import Run
from eval.runs.asking import how_asked
from eval.runs.found import asked
from eval.runs.prepare import AllFailed, Prepared, ask, demonstrate, manifest_of
from eval.runs.request import Request
from eval.runs.rescoring import rescore
from eval.runs.runner import fingerprint, whole_manifest
from eval.runs.store import count_paid, is_finished, read
from eval.tasks.demonstrations.training import Shown, at_hand
from odqa.limits import Limiter
from programs.instruments.state import load_state
from retrieval import Retriever, UsageError

__all__ = ["ANSWER_LAST", "Cell", "NoAnswer", "TableRun", "run"]

ANSWER_LAST = frozenset({"blendfilter", "chain_of_rewrite", "cot", "direct", "qpaug"})
"""Programs whose predictor `answer` is asked for the answer and for nothing else: without it they find, rank and keep
the same passages. (ITER-RETGEN searches with what its predictor `answer` says, and so is not among them.)"""

_Made = TypeVar("_Made")
_At = tuple[str, str]  # the names of a row and a column


@dataclass(frozen=True, slots=True)
class Cell:
    """A row and a column: the paper's figure and ours."""

    row: TableRow
    column: Column
    paper: Decimal | None
    """None where the paper prints none."""
    ours: Measured | None
    why_not: str
    """Why there is none of ours; empty where there is one, or is to be none."""


@dataclass(frozen=True, slots=True)
class TableRun:
    """A table as it was run here."""

    table: Table
    cells: tuple[Cell, ...]
    """Row by row."""
    differences: tuple[str, ...]
    """What our runs and the paper's do not have in common, one sentence each."""


def run(table: Table, setup: Setup) -> TableRun:
    """Run each row that has what it needs, and compute the columns that rest on others.

    Raises:
        UsageError: the LM or a setting cannot be used.
    """
    found: dict[_At, Measured] = {}
    why_not: dict[_At, str] = {}
    runs: list[RowRun] = []
    questions: dict[str, Questions | NotRun] = {}
    for row in table.rows:
        done: dict[str, RowRun | NotRun] = {}
        for column in table.columns:
            if column.task is None:
                continue
            try:
                check_judge(column, setup.judge)
                ran = _once(done, column.task, partial(_run_row, table, row, column.task, questions, setup))
                found[row.name, column.name] = measure(table, row, column, ran.summary, ran.run.rows, setup.judge)
            except NotRun as error:
                why_not[row.name, column.name] = str(error)
        runs += [ran for ran in done.values() if not isinstance(ran, NotRun)]
    for row, column in product(table.rows, table.columns):
        if column.task is None:
            try:
                if (figure := compute(column, row, found)) is not None:
                    found[row.name, column.name] = figure
            except NotRun as error:
                why_not[row.name, column.name] = str(error)
    cells = [
        Cell(row, column, figure, found.get((row.name, column.name)), why_not.get((row.name, column.name), ""))
        for row in table.rows
        for column, figure in zip(table.columns, row.figures, strict=True)
    ]
    return TableRun(table, tuple(cells), tuple(differences(table, runs, setup.request.settings)))


def _once(made: dict[str, _Made | NotRun], task: str, make: Callable[[], _Made]) -> _Made:
    """What `make` gives for the task, or the NotRun that it raises; it is called only the first time."""
    if task not in made:
        try:
            made[task] = make()
        except NotRun as error:
            made[task] = error
    known = made[task]
    if isinstance(known, NotRun):
        raise known
    return known


def _run_row(table: Table, row: TableRow, task: str, questions: dict[str, Questions | NotRun], setup: Setup) -> RowRun:
    """The run of a row on a task; of several, one for each top_p, the best answer to each question.

    Raises NotRun for what the row lacks, before questions are looked for, and where there is none or all failed.
    """
    request, retriever = _request(table, row, task, setup)
    answers = row.program not in ANSWER_LAST or needs_answers(table, row.program, task)
    module = _module(request, retriever, answers)
    of_planner = table.planners.get(row.program, ()) if row.planner else ()
    planned = [predictor for name, predictor in module.named_predictors() if name.partition(".")[0] in of_planner]
    reads = len(planned) < len(module.predictors())
    make_reader = fill(setup.lms, "--lm", row.reader, "reader") if reads else None
    make_planner = fill(setup.lms, "--lm", row.planner, "planner") if planned else None
    found = _once(questions, task, partial(_questions, task, setup))
    study = STUDIES.get(row.program)
    examples = prepared(study, found.examples) if study else found.examples
    if not examples:
        raise NotRun(f"there is no gold that it takes in {found.where}")
    reader, planner = (make and make(examples, retriever, request.seed) for make in (make_reader, make_planner))
    if planner:
        for predictor in planned:
            predictor.lm = planner.copy(cache=True)  # the run's records stand in the place of the cache
    ready = Prepared(
        request=request,
        examples=examples,
        retriever=retriever,
        module=module,
        shown=_demonstrations(module, request, examples, setup),
        lm=reader,
        planner=planner,
        answers=answers,
    )
    drawn = [reader.copy(top_p=top_p) for top_p in row.top_p] if reader and row.top_p else [reader]
    runs = [_made(row, replace(ready, lm=lm), setup) for lm in drawn]
    best = best_of(runs) if len(runs) > 1 else runs[0]
    asked = [lm and how_asked(lm) for lm in (reader, planner)]
    return RowRun(row, task, figures_of(best), best, found, *asked)


def _questions(task: str, setup: Setup) -> Questions:
    try:
        return find_questions(task, setup.request.limit, setup.request.data)
    except UsageError as error:
        raise NotRun(str(error)) from error


def _request(table: Table, row: TableRow, task: str, setup: Setup) -> tuple[Request, Retriever | None]:
    """What the row asks for, and its retriever; raises NotRun if it lacks a setting, a state file or a retriever."""
    name, known = task.partition(":")[0], settings_of(row.program)
    wanted = table.settings_for(row, task, setup.request.settings)
    settings = {setting: value for setting, value in wanted.items() if setting in known}
    if lacking := [setting for setting in row.needs if setting not in settings]:
        raise NotRun(f"needs --set {lacking[0]}=…, for which there is no default")
    shots, data = setup.request.demonstrations, setup.request.data
    state = None if row.demonstrations == "none" else setup.state_file(row.program, name)
    if state is None and not shots and row.demonstrations == "required":
        raise NotRun(
            f"needs --demonstrations N, or --state {row.program}=FILE with demonstrations: odqa optimize {row.program} "
            "makes one"
        )
    if shots is None and isinstance(row.demonstrations, int) and at_hand(task, data):
        shots = row.demonstrations  # the paper's number, where it can be had
    spec, retriever = (
        ("none", None) if row.retriever == "none" else fill(setup.retrievers, "--retriever", row.retriever, task=name)
    )
    none = state is not None or row.demonstrations == "none"
    request = replace(setup.request, task=task, program=row.program, settings=settings, state=state, retriever=spec)
    return replace(request, demonstrations=None if none else shots or None), retriever


def _module(request: Request, retriever: Retriever | None, answers: bool) -> dspy.Module:
    """The row's program with its state, of which NotRun is raised if it does not fit; without `answers` it asks for
    none."""
    module = program_of(request.program)(retriever, **request.settings)
    if request.state is not None:
        try:
            load_state(module, request.state)
        except UsageError as error:
            raise NotRun(str(error)) from error
    if not answers:
        module.answer = NoAnswer(module.answer)
    return module


def _made(row: TableRow, ready: Prepared, setup: Setup) -> Run:
    """The run as it is on disk: made here, gone on with, or another one that asked the same. Raises NotRun if a limit
    is reached before a question is answered, or if all questions failed."""
    request, manifest = ready.request, manifest_of(ready)
    sign = sha256(json.dumps([manifest, fingerprint(ready.examples)], sort_keys=True).encode()).hexdigest()[:12]
    directory = setup.directory / f"{request.program}-{request.task.replace(':', '-')}-{sign}"
    names = metrics_for(request.task, request.program, setup.judge, answers=ready.answers)
    limiter = setup.limiter
    count_paid(limiter, directory)
    if is_finished(directory):  # it costs nothing, but for the test of its judge
        limiter = Limiter()
    elif reached := limiter.reached():
        raise NotRun(f"{reached}; to continue, repeat the command with another")
    most = limiter.calls_left()
    chosen = [load_metric(name, judge_api_base=request.judge_api_base, most_calls=most) for name in names]
    if directory.exists() and (known := read(directory)).manifest.entries().get("rescored"):
        return known
    same = setup.known.get(asked(whole_manifest(manifest, ready.examples)))
    if same is not None and not directory.exists():
        setup.on_run(row.name, request.task, same)
        with suppress(UsageError):  # where a metric looks at what rows do not have
            return _taken(read(same), chosen, directory)
    setup.on_run(row.name, request.task, directory)
    try:
        ask(ready, chosen, directory, limiter=limiter, on_row=setup.on_row)
    except AllFailed as error:
        raise NotRun(str(error)) from error
    done = read(directory)
    if not done.rows:
        raise NotRun(f"{done.gap} before a question was answered; to continue, repeat the command with another")
    return done


def _taken(known: Run, chosen: Sequence[Metric], directory: Path) -> Run:
    """The run, by these metrics: if it has others, it is scored anew and the program is not asked again."""
    if {metric.__name__ for metric in chosen} <= {*known.manifest.metrics}:
        return known
    rescore(known, metrics=chosen, directory=directory)
    return read(directory)


def _demonstrations(
    module: dspy.Module, request: Request, examples: Sequence[dspy.Example], setup: Setup
) -> Shown | None:
    """Give the row's program its demonstrations. A program that asks no LM gets none. Where there are no questions to
    make them from, NotRun is raised if the caller wants some, and else it is said."""
    if not module.predictors():
        return None
    try:
        shown = demonstrate(module, request, examples)
    except UsageError as error:
        if setup.request.demonstrations:
            raise NotRun(str(error)) from error
        setup.on_demonstrations(f"{request.program}, {request.task}: zero-shot: {error}")
        return None
    if shown:
        setup.on_demonstrations(shown)
    return shown


class NoAnswer(dspy.Module):
    """Stands in the place of the predictor `answer`: asks no LM, and replies as if nothing could be parsed.

    Args:
        answer: The predictor, whose signature QPaug looks at.
    """

    def __init__(self, answer: dspy.Module) -> None:
        super().__init__()
        self.signature = getattr(answer, "signature", None)

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return dspy.Prediction(answer=None, reasoning=None)
