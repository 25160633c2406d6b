"""The rows of a table, run with the caller's LMs and retrievers.

A row is run with the program and the settings that it names, on the questions of each column. The same run is made only
once, whichever tables ask for it: it has a directory of its own, and is taken up from there. Where all columns for a
task look at what was found alone, no answers are asked for.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from functools import partial
from hashlib import sha256
from inspect import Parameter, signature
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import dspy

from eval.figures.comparison import best_of
from eval.figures.summary import summarise
from eval.papers.differences import RowRun, differences
from eval.papers.measuring import Measured, NotRun, check_judge, compute, measure, metrics_for, needs_answers
from eval.papers.migres_studies import STUDIES, prepared
from eval.papers.questions import Questions, find_questions
from eval.papers.roles import fill
from eval.papers.setup import MakeLM, Setup, program_of
from eval.papers.tables import Column, Table, TableRow
from eval.papers.unanswered import ANSWER_LAST, NoAnswer
from eval.runs.asking import how_asked
from eval.runs.budget import NothingLeft
from eval.runs.fingerprints import fingerprints
from eval.runs.runner import evaluate
from eval.runs.store import is_finished, read
from eval.tasks import SEED
from eval.tasks.demonstrations.training import at_hand, show
from odqa.secrets import without_url_secrets
from programs.instruments.state import load_state
from retrieval import Retriever, UsageError

__all__ = ["Cell", "TableRun", "run"]

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
                check_judge(column, setup)
                ran = _once(done, column.task, partial(_run_row, table, row, column.task, questions, setup))
                found[row.name, column.name] = measure(table, row, column, ran.summary, ran.run.rows, setup)
            except NotRun as error:
                why_not[row.name, column.name] = str(error)
        runs += [ran for ran in done.values() if not isinstance(ran, NotRun)]
    _compute(table, found, why_not)
    cells = [
        Cell(row, column, figure, found.get((row.name, column.name)), why_not.get((row.name, column.name), ""))
        for row in table.rows
        for column, figure in zip(table.columns, row.figures, strict=True)
    ]
    return TableRun(table, tuple(cells), tuple(differences(table, runs, setup.settings)))


def _compute(table: Table, found: dict[_At, Measured], why_not: dict[_At, str]) -> None:
    """Add the figures of the columns that rest on others."""
    for row, column in product(table.rows, table.columns):
        if column.task is None:
            try:
                if (figure := compute(column, row, found)) is not None:
                    found[row.name, column.name] = figure
            except NotRun as error:
                why_not[row.name, column.name] = str(error)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What a row runs on a task."""

    program: str
    module: dspy.Module
    settings: dict[str, Any]
    """All of them, the defaults among them."""
    state: str | None
    demonstrations: int | None
    retriever: Retriever | None
    retriever_spec: str
    reader: MakeLM | None
    """None where nothing is asked of it."""
    planner: MakeLM | None
    """None where nothing is asked of it, or the row has none."""
    planned: list[dspy.Predict]
    """The predictors that are the planner's."""
    answers: bool
    """Whether the question is answered; else it is only searched for."""


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
    """The run of a row on a task. What the row lacks is said before questions are looked for.

    Raises:
        NotRun: the row lacks something, there are no questions, or all of them failed.
    """
    ready = _prepare(table, row, task, setup)
    return _attempts(row, ready, task, _once(questions, task, partial(_questions, task, setup)), setup)


def _questions(task: str, setup: Setup) -> Questions:
    try:
        return find_questions(task, setup.limit, setup.data)
    except UsageError as error:
        raise NotRun(str(error)) from error


def _prepare(table: Table, row: TableRow, task: str, setup: Setup) -> _Prepared:
    """What the row runs.

    Raises:
        NotRun: it lacks a setting, a state file, a retriever or an LM.
    """
    program = program_of(row.program)
    known = {name: p for name, p in signature(program.__init__).parameters.items() if p.kind is Parameter.KEYWORD_ONLY}
    name, _, _ = task.partition(":")
    of_table = {**table.settings_by_task.get(name, {}), **table.settings}
    given = {setting: value for setting, value in setup.settings.items() if setting not in table.fixed_in(row)}
    wanted = {**of_table, **given, **row.settings}
    settings = {setting: value for setting, value in wanted.items() if setting in known}
    if lacking := [setting for setting in row.needs if setting not in settings]:
        raise NotRun(f"needs --set {lacking[0]}=…, for which there is no default")
    state = setup.state_file(row.program, name)
    if state is None and not setup.demonstrations and row.demonstrations == "required":
        raise NotRun(
            f"needs --demonstrations N, or --state {row.program}=FILE with demonstrations: odqa optimize "
            f"{row.program} makes one"
        )
    if row.demonstrations == "none":
        state = None
    spec, retriever = (
        ("none", None) if row.retriever == "none" else fill(setup.retrievers, "--retriever", row.retriever, task=name)
    )
    demonstrations = None if state or row.demonstrations == "none" else setup.demonstrations
    if state is None and demonstrations is None and isinstance(row.demonstrations, int) and at_hand(task, setup.data):
        demonstrations = row.demonstrations
    module = program(retriever, **settings)
    if state is not None:
        try:
            load_state(module, state)
        except UsageError as error:
            raise NotRun(str(error)) from error
    answers = row.program not in ANSWER_LAST or needs_answers(table, row.program, task)
    if not answers:
        module.answer = NoAnswer(module.answer)
    named = module.named_predictors()
    of_planner = table.planners.get(row.program, ()) if row.planner else ()
    planned = [predictor for name, predictor in named if name.partition(".")[0] in of_planner]
    reads = len(planned) < len(named)
    return _Prepared(
        program=row.program,
        module=module,
        settings={name: parameter.default for name, parameter in known.items()} | settings,
        state=state,
        demonstrations=demonstrations,
        retriever=retriever,
        retriever_spec=spec,
        reader=fill(setup.lms, "--lm", row.reader, "reader") if reads else None,
        planner=fill(setup.lms, "--lm", row.planner, "planner") if planned else None,
        planned=planned,
        answers=answers,
    )


def _attempts(row: TableRow, made: _Prepared, task: str, questions: Questions, setup: Setup) -> RowRun:
    """The run of the row; of several, one for each top_p, the best answer to each question.

    Raises:
        NotRun: there are no questions for it, or all of them failed.
    """
    runs = [_attempt(row, made, task, questions, setup, top_p) for top_p in row.top_p or (None,)]
    if len(runs) == 1:
        return runs[0]
    best = best_of([done.run for done in runs])
    return replace(runs[0], summary=summarise(best.rows, runs[0].summary.questions, best.manifest), run=best)


def _attempt(
    row: TableRow, made: _Prepared, task: str, questions: Questions, setup: Setup, top_p: float | None
) -> RowRun:
    study = STUDIES.get(made.program)
    examples = prepared(study, questions.examples) if study else questions.examples
    if not examples:
        raise NotRun(f"there is no gold that it takes in {questions.where}")
    shown = _demonstrations(made, task, examples, setup)
    reader, planner = (make and make(examples, made.retriever, setup.seed) for make in (made.reader, made.planner))
    if planner:
        for predictor in made.planned:
            predictor.lm = planner.copy(cache=True)  # the run's records stand in the place of the cache
    lm = reader.copy(top_p=top_p) if reader and top_p is not None else reader
    reads, plans = (asked and asdict(how_asked(asked)) for asked in (lm, planner))
    manifest = {
        "task": task,
        "program": made.program,
        **(reads or {"lm": None}),
        "planner": plans if plans != reads else None,
        "cache": setup.cache,
        "seed": setup.seed,
        "top_p": top_p,
        "answers": made.answers,
        "retriever": without_url_secrets(made.retriever_spec),
        "settings": {name: _without_secrets(value) for name, value in made.settings.items()},
        "state": made.state and {"file": made.state, "sha256": sha256(Path(made.state).read_bytes()).hexdigest()},
        "demonstrations": shown,
        "limit": setup.limit,
        "judge": setup.judge,
        "sample": questions.where,
        "fingerprints": fingerprints(made.retriever_spec) | fingerprints(str(made.settings.get("against", "none"))),
        "sample_seed": SEED,
    }
    sign = sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:12]
    directory = setup.directory / f"{made.program}-{task.replace(':', '-')}-{sign}"
    try:
        limits = setup.budget.left_for(directory, finished=is_finished(directory))
    except NothingLeft as error:
        raise NotRun(f"{error}; to continue, repeat the command with another") from error
    setup.on_run(row.name, task, directory)
    with dspy.context(lm=lm):
        summary = evaluate(
            made.module,
            examples,
            metrics=metrics_for(task, made.program, setup, made.answers, limits.calls),
            directory=directory,
            threads=setup.threads,
            lm_calls=setup.lm_calls,
            workers=setup.workers,
            limits=limits,
            cache=setup.cache,
            manifest=manifest,
            on_row=setup.on_row,
            clean=setup.clean,
        )
    if not summary.total.n:
        raise NotRun(f"{summary.stopped} before a question was answered; to continue, repeat the command with another")
    if summary.total.failed == summary.total.n:
        raise NotRun(f"all {summary.total.n} questions that were asked failed, the first with {summary.first_error}")
    return RowRun(
        row, summary, read(directory), questions, reader and how_asked(reader), planner and how_asked(planner)
    )


def _demonstrations(
    made: _Prepared, task: str, examples: Sequence[dspy.Example], setup: Setup
) -> dict[str, Any] | None:
    """Give the row's program its demonstrations; the record for the manifest. A program that asks no LM gets none, and
    neither does one whose row shows them by default, where they cannot be made.

    Raises:
        NotRun: the caller wants some, and there are no questions to make them from.
    """
    if not made.demonstrations or not made.module.predictors():
        return None
    try:
        shown = show(made.module, made.demonstrations, task=task, asked=examples, data=setup.data)
    except UsageError as error:
        if setup.demonstrations:
            raise NotRun(str(error)) from error
        setup.on_demonstrations(f"{made.program}, {task}: zero-shot: {error}")
        return None
    setup.on_demonstrations(shown)
    return shown.record()


def _without_secrets(value: Any) -> Any:
    """A setting's value without what a URL in it may hold of secrets."""
    return without_url_secrets(value) if isinstance(value, str) else value
