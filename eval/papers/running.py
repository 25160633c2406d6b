"""The rows of a table, run with the caller's LM and retriever.

A row is run with the program and the settings that it names, on the questions of each column. The same run is made only
once, whichever tables ask for it: it has a directory of its own, and is taken up from there.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from hashlib import sha256
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, TypeVar

import dspy

import programs
from eval.figures.comparison import best_of
from eval.figures.summary import Summary, summarise
from eval.papers.measuring import Measured, NotRun, measure, metrics_for
from eval.papers.migres_studies import STUDIES, prepared
from eval.papers.questions import Questions, find_questions
from eval.papers.setup import Setup
from eval.papers.tables import Column, Table, TableRow
from eval.runs.ceiling import label
from eval.runs.fingerprints import fingerprints
from eval.runs.runner import evaluate, without_url_secrets
from eval.runs.store import Run, read
from eval.tasks import SEED
from eval.tasks.demonstrations.training import show
from programs.instruments.state import load_state
from retrieval import Retriever, UsageError

__all__ = ["Cell", "TableRun", "run"]

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Cell:
    """A row and a column: the paper's figure and ours."""

    row: TableRow
    column: Column
    paper: Decimal | None
    """None where the paper prints none."""
    ours: Measured | None
    why_not: str
    """Why there is none of ours; empty where there is one."""


@dataclass(frozen=True, slots=True)
class TableRun:
    """A table as it was run here."""

    table: Table
    cells: tuple[Cell, ...]
    """Row by row."""
    differences: tuple[str, ...]
    """What our runs and the paper's do not have in common, one sentence each."""


def run(table: Table, setup: Setup) -> TableRun:
    """Run each row that has what it needs.

    Raises:
        UsageError: the LM or a setting cannot be used.
    """
    cells: list[Cell] = []
    differences: dict[str, None] = {}
    questions: dict[str, Questions | NotRun] = {}
    for row in table.rows:
        done: dict[str, _RowRun | NotRun] = {}
        for column, figure in zip(table.columns, row.figures, strict=True):
            ours, why_not = None, ""
            try:
                if column.task is None:
                    raise NotRun("the paper's figure alone")
                ran = _once(done, column.task, partial(_run_row, table, row, column.task, questions, setup))
                differences |= dict.fromkeys(_differences(table, row, ran))
                ours = measure(table, row, column, ran.summary, ran.run.rows, setup)
            except NotRun as error:
                why_not = str(error)
            cells.append(Cell(row, column, figure, ours, why_not))
    return TableRun(table, tuple(cells), tuple(differences))


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


@dataclass(frozen=True, slots=True)
class _RowRun:
    """The run of a row on a task."""

    summary: Summary
    run: Run
    questions: Questions


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


def _run_row(table: Table, row: TableRow, task: str, questions: dict[str, Questions | NotRun], setup: Setup) -> _RowRun:
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
        NotRun: it lacks a setting, a state file or a retriever.
    """
    program = STUDIES[row.program].module if row.program in STUDIES else programs.load(row.program)
    known = {name: p for name, p in signature(program.__init__).parameters.items() if p.kind is Parameter.KEYWORD_ONLY}
    name, _, _ = task.partition(":")
    wanted = {**table.settings_by_task.get(name, {}), **table.settings, **row.settings, **setup.settings}
    settings = {setting: value for setting, value in wanted.items() if setting in known}
    if lacking := [setting for setting in row.needs if setting not in settings]:
        raise NotRun(f"needs --set {lacking[0]}=…, for which there is no default")
    state = setup.state_file(row.program, name)
    if state is None and setup.demonstrations is None and row.demonstrations == "required":
        raise NotRun(
            f"needs --demonstrations N, or --state {row.program}=FILE with demonstrations: python -m optimizers "
            f"{row.program} makes one"
        )
    if row.demonstrations == "none":
        state = None
    demonstrations = None if state or row.demonstrations == "none" else setup.demonstrations
    retriever, spec = _retriever(row, setup)
    module = program(retriever, **settings)
    if state is not None:
        try:
            load_state(module, state)
        except UsageError as error:
            raise NotRun(str(error)) from error
    defaults = {setting: parameter.default for setting, parameter in known.items()}
    return _Prepared(row.program, module, defaults | settings, state, demonstrations, retriever, spec)


def _retriever(row: TableRow, setup: Setup) -> tuple[Retriever | None, str]:
    """The retriever for the row's role, and its name.

    Raises:
        NotRun: the caller has not given it.
    """
    if row.retriever == "none":
        return None, "none"
    if row.retriever == "oracle":
        if setup.oracle_spec is None:
            corpus = "over a corpus that python -m eval corpus TASK --add-to CORPUS has made"
            raise NotRun(f"needs --oracle-retriever, {corpus}")
        return setup.oracle, setup.oracle_spec
    if setup.retriever_spec is None:
        raise NotRun("needs a retriever: give --retriever")
    return setup.retriever, setup.retriever_spec


def _attempts(row: TableRow, made: _Prepared, task: str, questions: Questions, setup: Setup) -> _RowRun:
    """The run of the row; of several, one for each top_p, the best answer to each question.

    Raises:
        NotRun: there are no questions for it, or all of them failed.
    """
    runs = [_attempt(made, task, questions, setup, top_p) for top_p in row.top_p or (None,)]
    if len(runs) == 1:
        return runs[0]
    best = best_of([done.run for done in runs])
    return _RowRun(summarise(best.rows, runs[0].summary.questions, best.manifest), best, questions)


def _attempt(made: _Prepared, task: str, questions: Questions, setup: Setup, top_p: float | None) -> _RowRun:
    study = STUDIES.get(made.program)
    examples = prepared(study, questions.examples) if study else questions.examples
    if not examples:
        raise NotRun(f"there is no gold that it takes in {questions.where}")
    shown = _demonstrations(made, task, examples, setup)
    lm = setup.lm(examples, made.retriever)
    if top_p is not None:
        lm = lm.copy(top_p=top_p)
    manifest = {
        "task": task,
        "program": made.program,
        "lm": lm.model,
        "top_p": top_p,
        "retriever": without_url_secrets(made.retriever_spec),
        "settings": {name: _without_secrets(value) for name, value in made.settings.items()},
        "state": made.state and {"file": made.state, "sha256": sha256(Path(made.state).read_bytes()).hexdigest()},
        "demonstrations": shown,
        "limit": setup.limit,
        "judge": setup.judge,
        "sample": questions.where,
        "fingerprints": fingerprints(made.retriever_spec) | fingerprints(str(made.settings.get("against", "none"))),
        "seed": SEED,
    }
    sign = sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:12]
    directory = setup.directory / f"{made.program}-{task.replace(':', '-')}-{sign}"
    with dspy.context(lm=lm):
        summary = evaluate(
            made.module,
            examples,
            metrics=metrics_for(task, made.program, setup),
            directory=directory,
            threads=setup.threads,
            limits=setup.limits,
            manifest=manifest,
            on_row=setup.on_row,
            clean=setup.clean,
        )
    if summary.total.n and summary.total.failed == summary.total.n:
        raise NotRun(f"all {summary.total.n} questions that were asked failed, the first with {summary.first_error}")
    return _RowRun(summary, read(directory), questions)


def _demonstrations(
    made: _Prepared, task: str, examples: Sequence[dspy.Example], setup: Setup
) -> dict[str, Any] | None:
    """Give the row's program its demonstrations; the record for the manifest.

    Raises:
        NotRun: there are no questions to make them from.
    """
    if made.demonstrations is None:
        return None
    try:
        shown = show(made.module, made.demonstrations, task=task, asked=examples, data=setup.data)
    except UsageError as error:
        raise NotRun(str(error)) from error
    setup.on_demonstrations(shown)
    return shown.record()


def _without_secrets(value: Any) -> Any:
    """A setting's value without what a URL in it may hold of secrets."""
    return without_url_secrets(value) if isinstance(value, str) else value


def _differences(table: Table, row: TableRow, ran: _RowRun) -> Sequence[str]:
    """What a run and the paper's row do not have in common."""
    manifest, total = ran.summary.manifest, ran.summary.total
    shown = manifest.entries().get("demonstrations")
    shots = f"with the state {manifest.state['file']}" if manifest.state else "zero-shot"
    if shown:
        shots = f"{shown['count']} labelled demonstrations of {shown['source']}"
    found = [f"LM: {label(str(manifest.lm))} (paper: {table.lm}); {shots}"]
    if manifest.retriever != "none":
        found.append(f"Retrieval: {manifest.retriever} (paper: {table.corpus})")
    if against := manifest.settings.get("against"):
        found.append(f"Against: {against}")
    found.append(f"Questions: {total.n} of {ran.questions.where}")
    if total.failed:
        found.append(f"{row.name}: {total.failed} of {total.n} questions failed and count 0")
    if not ran.summary.complete:
        found.append(f"{row.name}: INCOMPLETE, {total.n} of {ran.summary.questions} questions")
    return found
