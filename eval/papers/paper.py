"""The papers' tables: what they print, and the same rows run here, side by side.

`eval.papers.paper_tables` has the figures. A row is run with the program and the settings that it names, on the
questions of its column, with the LM and the retriever of the caller; what differs from the paper is listed below each
table. The same run is made once, whichever tables ask for it: it lies in a directory of its own and is taken up from
there.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, NamedTuple

import dspy

import programs
from eval import metrics
from eval.figures.comparison import Run, best_of
from eval.figures.costs import costs
from eval.figures.summary import Row, Summary, summarise
from eval.papers.paper_tables import PAPERS, TABLES
from eval.papers.study import STUDIES, prepared
from eval.reports.text import align
from eval.runs.ceiling import label
from eval.runs.fingerprints import fingerprints
from eval.runs.recorded_calls import Limits
from eval.runs.runner import evaluate, without_url_secrets
from eval.tasks import SEED, choose, load
from eval.tasks.task import Task
from programs.instruments.state import load_state
from retrieval import Retriever, UsageError

__all__ = ["COUNTS", "Cell", "Column", "Line", "Setup", "Table", "assigned", "find", "listing", "run", "show", "states"]

# Settings that follow from the data set, for the programs that have them.
_BY_TASK = {
    "strategyqa": {"style": "yesno", "preset": "commonsense"},
    "nq": {"preset": "odqa"},
    "triviaqa": {"preset": "odqa"},
}
COUNTS = ("lm_calls", "iterations", "passages_shown", "external_tokens")
"""Columns that are numbers per question and no scores."""
_JUDGED = "acc_judge"


class Column(NamedTuple):
    """A column: what the paper calls it, and the task and the metric, which are empty where it is not run."""

    name: str
    task: str
    metric: str


class Line(NamedTuple):
    """A row of a table."""

    name: str
    program: str
    settings: dict[str, Any]
    """Of the program. Besides, `retriever` is "none" for closed book, "oracle" for an oracle corpus; `state` is "none"
    for zero-shot whatever the caller gives; `top_p` has several values for the best of several answers; and "?" stands
    for what the caller has to give."""
    figures: tuple[str, ...]
    """The paper's, one for each column; "-" where it prints none."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a figure of a paper."""

    name: str
    title: str
    lm: str
    corpus: str
    scale: float
    """What a score of 1 is printed as: 1 or 100."""
    note: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]


class Cell(NamedTuple):
    """One figure of the paper, and ours in the paper's scale; None where there is none, and then why."""

    line: str
    column: str
    paper: str
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """What the rows are run with.

    Attributes:
        lm: Gives the LM for questions and a retriever; called for every run.
        retriever: The retriever, or None where none was named.
        retriever_spec: Its name.
        oracle: The retriever of rows with an oracle corpus, the data sets' own passages among the others; or None.
        oracle_spec: Its name.
        directory: Where the directories of the runs go.
        limit: Ask only the first so many questions of each task.
        data: Directory with local copies of the data sets; see `eval.tasks.load`.
        judge: The LM of acc_judge, as `eval.metrics.load` takes it; None leaves that metric out.
        judge_api_base: Address of an OpenAI-compatible server that has it.
        settings: As `assigned` gives them, for all rows whose programs have them, over those of the table.
        states: State files, with the demonstrations that the papers show, by PROGRAM:TASK or PROGRAM.
        threads: Questions in flight at the same time.
        limits: When to stop, for each run.
        on_row: Called with each row of each run.
        clean: Applied to the message of every error before it is written.
    """

    lm: Callable[[Sequence[dspy.Example], Retriever | None], dspy.LM]
    retriever: Retriever | None
    retriever_spec: str | None
    directory: Path
    oracle: Retriever | None = None
    oracle_spec: str | None = None
    limit: int | None = None
    data: str | Path | None = None
    judge: str | None = None
    judge_api_base: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    threads: int = 8
    limits: Limits = Limits()  # noqa: RUF009  # it is immutable
    on_row: Callable[[Row], object] = lambda row: None
    clean: Callable[[str], str] = str


def find(name: str) -> Table:
    """The table or figure of this name, such as blendfilter:table1.

    Raises:
        UsageError: there is none.
    """
    if name not in TABLES:
        raise UsageError(f"there is no table {name!r}: python -m eval paper lists them")
    found = TABLES[name]
    return Table(
        name=name,
        title=found["title"],
        lm=found["lm"],
        corpus=found["corpus"],
        scale=float(found["scale"]),
        note=found.get("note", ""),
        columns=tuple(map(_column, found["columns"].strip().splitlines())),
        lines=tuple(map(_line, found["rows"].strip().splitlines())),
    )


def listing() -> str:
    """All tables and figures, by paper, with the number of their rows."""
    parts = []
    for paper, source in PAPERS.items():
        tables = [find(name) for name in TABLES if name.startswith(f"{paper}:")]
        lines = [[table.name, str(len(table.lines)), table.title] for table in tables]
        parts += [source, align([["", "rows", ""], *lines], left=(0, 2)), ""]
    return "\n".join(parts).rstrip()


def show(table: Table) -> str:
    """The table as the paper has it."""
    lines = [["", *(column.name for column in table.columns)]]
    lines += [[line.name, *(line.figures or ["-"] * len(table.columns))] for line in table.lines]
    return "\n".join([*_heading(table), "", align(lines)])


def run(table: Table, setup: Setup) -> str:
    """Run what can be run of the table, and give it with the paper's figures beside ours.

    Raises:
        UsageError: the LM or a setting cannot be used.
    """
    cells: list[Cell] = []
    differs: dict[str, None] = {}
    tasks: dict[str, _Questions | UsageError] = {}
    for line in table.lines:
        done: dict[str, _Run | str] = {}
        for column, figure in zip(table.columns, line.figures or ["-"] * len(table.columns), strict=True):
            if column.task and column.task not in done:
                done[column.task] = _run(line, column.task, tasks, setup)
            outcome = done.get(column.task, "the paper's figure alone")
            if isinstance(outcome, str):
                cells.append(Cell(line.name, column.name, figure, why_not=outcome))
            else:
                cells.append(_cell(line, column, figure, table.scale, outcome, setup))
                differs |= dict.fromkeys(_differences(table, line, outcome))
    rows = [[cell.line, cell.column, cell.paper, *_ours(cell, table.scale)] for cell in cells]
    parts = [*_heading(table), "", align([["", "", "paper", "ours", "95 %", "n"], *rows], left=(0, 1))]
    missing = dict.fromkeys(f"{c.line}: {c.why_not}" for c in cells if c.why_not)
    parts += ["", "Not run:", *(f"  {text}" for text in missing)] if missing else []
    parts += ["", "What differs from the paper:", *(f"  {text}" for text in differs)] if differs else []
    return "\n".join(parts)


def assigned(assignments: Sequence[str]) -> dict[str, Any]:
    """Settings by name, from NAME=VALUE.

    Raises:
        UsageError: one is not of that form.
    """
    return {name.replace("-", "_"): _value(value) for name, value in _pairs(assignments, "a setting is given as NAME")}


def states(assignments: Sequence[str]) -> dict[str, str]:
    """State files by PROGRAM or PROGRAM:TASK, from PROGRAM[:TASK]=FILE.

    Raises:
        UsageError: one is not of that form, or there is no such program or task.
    """
    files = dict(_pairs(assignments, "a state is given as PROGRAM[:TASK]"))
    for name in files:
        program, colon, task = name.partition(":")
        programs.load(program)
        if colon:
            choose(task)
    return files


def _pairs(assignments: Sequence[str], form: str) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in assignments]
    if wrong := [text for text, (name, equals, _) in zip(assignments, pairs, strict=True) if not (name and equals)]:
        raise UsageError(f"{form}=VALUE, not {wrong[0]!r}")
    return [(name, value) for name, _, value in pairs]


class _Questions(NamedTuple):
    examples: list[dspy.Example]
    where: str
    """What they are: the paper's questions, or those that a local copy has instead."""


class _Made(NamedTuple):
    module: dspy.Module
    settings: dict[str, Any]
    """All of them."""
    state: str | None
    retriever: Retriever | None
    spec: str
    """The retriever's."""


class _Run(NamedTuple):
    summary: Summary
    rows: list[Row]
    questions: _Questions


def _column(text: str) -> Column:
    name, task, metric = (*(part.strip() for part in text.split(" | ")), "", "")[:3]
    return Column(name, task, metric)


def _line(text: str) -> Line:
    name, what, figures = (part.strip() for part in f"{text} ".split(" | "))
    program, *settings = what.split()
    pairs = (setting.partition("=") for setting in settings)
    return Line(name, program, {key: _value(value) for key, _, value in pairs}, tuple(figures.split()))


def _plain(value: Any) -> Any:
    """A setting's value without what a URL in it may hold of secrets."""
    return without_url_secrets(value) if isinstance(value, str) else value


def _value(text: str) -> Any:
    """A setting's value: true or false, a number, or a word."""
    try:
        return {"True": True, "False": False}[text] if text in ("True", "False") else json.loads(text)
    except ValueError:
        return text


def _heading(table: Table) -> list[str]:
    paper, _, _ = table.name.partition(":")
    heading = [f"{table.name}: {table.title} ({PAPERS[paper]})", f"LM: {table.lm}", f"Retrieval: {table.corpus}"]
    return [*heading, table.note] if table.note else heading


def _questions(task: str, setup: Setup) -> "_Questions | UsageError":
    """The paper's questions; all of a local copy where there are too few in it, or none is of the paper's split."""
    chosen, variant = choose(task)
    where = f"{task}, {chosen.variants[variant].source}"
    own, other = (_copy(chosen, name, setup.data) for name in (variant, "all"))
    copy = own or other
    try:
        if own or not other:
            return _Questions(load(task, setup.limit, data=setup.data), where)
    except UsageError as error:
        if not copy:
            return error
    try:
        here = load(f"file:{copy}", setup.limit)
    except UsageError as error:
        return error
    return _Questions(here, f"the local copy of {chosen.name}, in place of {where}")


def _copy(task: Task, variant: str, data: str | Path | None) -> Path | None:
    """The local copy of the split that the variant is of; None where there is none."""
    if data is None:
        return None
    file = Path(data) / f"{task.name}.{task.variants[variant].file}.jsonl"
    return next((path for path in (file.with_name(f"{file.name}.gz"), file) if path.exists()), None)


def _run(line: Line, task: str, tasks: "dict[str, _Questions | UsageError]", setup: Setup) -> "_Run | str":
    """The run of a row on a task, or the best of several; or why there is none."""
    made = _made(line, task, setup)
    if isinstance(made, str):
        return made
    if task not in tasks:
        tasks[task] = _questions(task, setup)
    questions = tasks[task]
    if isinstance(questions, UsageError):
        return str(questions)
    runs = []
    for top_p in str(line.settings.get("top_p", "")).split(","):
        done = _run_once(line, made, task, questions, setup, float(top_p) if top_p else None)
        if isinstance(done, str):
            return done
        runs.append(done)
    if len(runs) == 1:
        return runs[0]
    best = best_of([Run(str(n), done.summary.manifest, done.rows) for n, done in enumerate(runs)])
    return _Run(summarise(best.rows, runs[0].summary.questions, best.manifest), best.rows, questions)


def _made(line: Line, task: str, setup: Setup) -> "_Made | str":
    """What the row runs; or what it lacks."""
    study = STUDIES.get(line.program)
    program = study.module if study else programs.load(line.program)
    known = {name: p for name, p in signature(program.__init__).parameters.items() if p.kind is Parameter.KEYWORD_ONLY}
    by_task = _BY_TASK.get(task.partition(":")[0], {})
    wanted = {**by_task, **line.settings, **setup.settings}
    settings = {name: value for name, value in wanted.items() if name in known}
    if open_ := [name for name, value in settings.items() if value == "?"]:
        return f"needs --set {open_[0]}=…, for which there is no default"
    state = setup.states.get(f"{line.program}:{task.partition(':')[0]}", setup.states.get(line.program))
    if state is None and line.settings.get("state") == "?":
        return f"needs --state {line.program}=FILE with demonstrations: python -m optimizers {line.program} makes one"
    if line.settings.get("state") == "none":
        state = None
    corpus = line.settings.get("retriever", "")
    retriever, spec = {"none": (None, "none"), "oracle": (setup.oracle, setup.oracle_spec)}.get(
        corpus, (setup.retriever, setup.retriever_spec)
    )
    if spec is None and corpus == "oracle":
        return "needs --oracle-retriever, over a corpus that python -m eval corpus TASK --add-to CORPUS has made"
    if spec is None:
        return "needs a retriever: give --retriever"
    module = program(retriever, **settings)
    if state is not None:
        try:
            load_state(module, state)
        except UsageError as error:
            return str(error)
    return _Made(module, {name: p.default for name, p in known.items()} | settings, state, retriever, spec)


def _run_once(
    line: Line, made: "_Made", task: str, questions: "_Questions", setup: Setup, top_p: float | None
) -> "_Run | str":
    study = STUDIES.get(line.program)
    examples = prepared(study, questions.examples) if study else questions.examples
    if not examples:
        return f"there is no gold that it takes in {questions.where}"
    lm = setup.lm(examples, made.retriever)
    if top_p is not None:
        lm = lm.copy(top_p=top_p)
    manifest = {
        "task": task,
        "program": line.program,
        "lm": lm.model,
        "top_p": top_p,
        "retriever": without_url_secrets(made.spec),
        "settings": {name: _plain(value) for name, value in made.settings.items()},
        "state": made.state and {"file": made.state, "sha256": sha256(Path(made.state).read_bytes()).hexdigest()},
        "limit": setup.limit,
        "judge": setup.judge,
        "sample": questions.where,
        "fingerprints": fingerprints(made.spec) | fingerprints(str(made.settings.get("against", "none"))),
        "seed": SEED,
    }
    sign = sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()[:12]
    rows: list[Row] = []

    def on_row(row: Row) -> None:
        rows.append(row)
        setup.on_row(row)

    with dspy.context(lm=lm):
        summary = evaluate(
            made.module,
            examples,
            metrics=list(study.metrics.values()) if study else _metrics(task, setup),
            directory=setup.directory / f"{line.program}-{task.replace(':', '-')}-{sign}",
            threads=setup.threads,
            limits=setup.limits,
            manifest=manifest,
            on_row=on_row,
            clean=setup.clean,
        )
    if summary.total.n and summary.total.failed == summary.total.n:
        return f"all {summary.total.n} questions that were asked failed, the first with {summary.first_error}"
    return _Run(summary, rows, questions)


def _metrics(task: str, setup: Setup) -> list[metrics.Metric]:
    """The metrics that any table of programs has for the task, so that one run serves them all."""
    tables = [table for table in map(find, TABLES) if not any(line.program in STUDIES for line in table.lines)]
    wanted = dict.fromkeys(
        column.metric
        for table in tables
        for column in table.columns
        if column.task == task and column.metric not in COUNTS
    )
    names = [f"{name}:{setup.judge}" if name == _JUDGED else name for name in wanted if name != _JUDGED or setup.judge]
    return [metrics.load(name, judge_api_base=setup.judge_api_base) for name in names]


def _cell(line: Line, column: Column, figure: str, scale: float, done: _Run, setup: Setup) -> Cell:
    total = done.summary.total
    if column.metric in COUNTS:
        count = _count(column.metric, done)
        why = "" if count is not None else f"the program reports no {column.metric.replace('_', ' ')}"
        return Cell(line.name, column.name, figure, count, n=total.n, why_not=why)
    study = STUDIES.get(line.program)
    if study and column.metric in study.ratios:
        ratio = study.ratios[column.metric](done.rows)
        if ratio is None:
            return Cell(line.name, column.name, figure, why_not=f"{column.metric} is undefined here")
        return Cell(line.name, column.name, figure, *ratio, total.n)
    name = column.metric if column.metric != _JUDGED else f"{_JUDGED}:{setup.judge}"
    if name not in total.scores:
        why = "needs --judge LM" if column.metric == _JUDGED and not setup.judge else f"{name} is undefined here"
        return Cell(line.name, column.name, figure, why_not=why)
    score = total.scores[name]
    ours, low, high = scale * score.mean, scale * score.low, scale * score.high
    return Cell(line.name, column.name, figure, ours, low, high, score.n)


def _count(metric: str, done: _Run) -> float | None:
    spent = costs(done.rows, done.summary.manifest)
    if metric == "lm_calls":
        return done.summary.total.cost["lm_calls"]
    if metric == "external_tokens":
        reported = [row["prediction"].get(metric) for row in done.rows if row["prediction"]]
        return sum(reported) / len(reported) if reported and None not in reported else None
    return spent.iterations if metric == "iterations" else spent.passages


def _differences(table: Table, line: Line, done: _Run) -> list[str]:
    """What a run and the paper's row do not have in common."""
    manifest, total = done.summary.manifest, done.summary.total
    shots = f"with the state {manifest['state']['file']}" if manifest["state"] else "zero-shot"
    found = [f"LM: {label(manifest['lm'])} (paper: {table.lm}); {shots}"]
    if manifest["retriever"] != "none":
        found.append(f"Retrieval: {manifest['retriever']} (paper: {table.corpus})")
    if against := manifest["settings"].get("against"):
        found.append(f"Against: {against}")
    found.append(f"Questions: {total.n} of {done.questions.where}")
    if total.failed:
        found.append(f"{line.name}: {total.failed} of {total.n} questions failed and count 0")
    if not done.summary.complete:
        found.append(f"{line.name}: INCOMPLETE, {total.n} of {done.summary.questions} questions")
    return found


def _ours(cell: Cell, scale: float) -> list[str]:
    if cell.ours is None:
        return ["-", "", ""]
    if cell.low is None or cell.high is None:
        return [f"{cell.ours:.2f}", "", str(cell.n)]
    digits = 3 if scale == 1 else 1
    return [f"{cell.ours:.{digits}f}", f"[{cell.low:.{digits}f}, {cell.high:.{digits}f}]", str(cell.n)]
