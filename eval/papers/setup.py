"""What the rows of a table are run with: the caller's LM, retrievers, settings and state files."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

import dspy

import programs
from eval.papers.migres_studies import STUDIES
from eval.papers.tables import Table
from eval.runs.budget import Budget
from eval.runs.limits import Limits
from eval.runs.record import Row
from eval.tasks import choose
from eval.tasks.demonstrations.training import Shown
from odqa.cluster import Workers
from programs.steps.settings import check
from retrieval import Retriever, UsageError

__all__ = ["MakeLM", "Setup", "State", "assigned", "check_settings", "program_of", "settings_of", "states"]

MakeLM = Callable[[Sequence[dspy.Example], Retriever | None, int], dspy.LM]
"""Gives the LM for questions, a retriever and a seed."""


@dataclass(frozen=True, slots=True)
class State:
    """A state file, whose demonstrations a program shows the LM."""

    program: str
    task: str | None
    """The only task that it is for; None if it is for all."""
    file: str


@dataclass(frozen=True, slots=True)
class Setup:
    """What the rows are run with.

    Attributes:
        lms: By role, what gives the LM for questions, a retriever and a seed; called for every run. The role is one of
            `eval.papers.roles.lm_roles`, or "" for all that are not named.
        retrievers: By role, the name of a retriever and the retriever itself. The role is one of
            `eval.papers.roles.retriever_roles`, or "" for all that are not named, except `oracle`, whose corpus has the
            data sets' own passages among the others. ROLE@TASK and @TASK are for the questions of one task alone.
        directory: Where the directories of the runs go.
        limit: Ask only the first so many questions of each task.
        data: Directory with local copies of the data sets; see `eval.tasks.load`.
        judge: The LM of acc_judge, as `eval.metrics.load` takes it; None leaves that metric out.
        judge_api_base: Address of an OpenAI-compatible server that has it.
        settings: As `assigned` gives them, for all rows whose programs have them. They replace those of the table, but
            not what a row fixes; see `eval.papers.tables.Table.fixed_in`.
        states: State files, with the demonstrations that the papers show.
        demonstrations: How many labelled demonstrations each predictor gets, in rows where the paper shows some and
            there is no state file; 0 for none, None for as many as the row says.
        on_demonstrations: Called with the demonstrations of each run, or with why it has none of those of its row.
        seed: Number of this attempt at the questions, for the LMs; another one gives other runs.
        threads: Questions in flight at the same time; likewise `lm_calls` and `workers`, see
            `eval.runs.runner.evaluate`.
        budget: When to stop: the limits of all runs together.
        cache: Use the replies in DSPy's cache; see `eval.runs.runner.evaluate`.
        on_run: Called with the name of a row, the task and the directory, before the row is run there.
        on_row: Called with each row of each run.
        clean: Applied to the message of every error before it is written.
    """

    lms: Mapping[str, MakeLM]
    retrievers: Mapping[str, tuple[str, Retriever]]
    directory: Path
    limit: int | None = None
    data: str | Path | None = None
    judge: str | None = None
    judge_api_base: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    states: Sequence[State] = ()
    demonstrations: int | None = None
    on_demonstrations: Callable[[Shown | str], object] = lambda shown: None
    seed: int = 0
    threads: int | None = None
    lm_calls: int | None = None
    workers: Workers | None = None
    budget: Budget = field(default_factory=lambda: Budget(Limits()))
    cache: bool = False
    on_run: Callable[[str, str, Path], object] = lambda row, task, directory: None
    on_row: Callable[[Row], object] = lambda row: None
    clean: Callable[[str], str] = str

    def state_file(self, program: str, task: str) -> str | None:
        """The state file for a program on a task, given without variant: the one for this task before the one for all
        tasks, and of several the last."""
        files = {state.task: state.file for state in self.states if state.program == program}
        return files.get(task, files.get(None))


def program_of(name: str) -> type[dspy.Module]:
    """What a row runs: a program, or the module of a study."""
    return STUDIES[name].module if name in STUDIES else programs.load(name)


def settings_of(name: str) -> set[str]:
    """The names of the settings of what a row runs."""
    return {p.name for p in signature(program_of(name).__init__).parameters.values() if p.kind is p.KEYWORD_ONLY}


def assigned(assignments: Sequence[str]) -> dict[str, Any]:
    """Settings by name, from NAME=VALUE: true or false, a number or a word.

    Raises:
        UsageError: one is not of that form.
    """
    return {name.replace("-", "_"): _value(value) for name, value in _pairs(assignments, "a setting is given as NAME")}


def check_settings(settings: Mapping[str, Any], tables: Sequence[Table]) -> None:
    """Check that the programs of these tables can be made with the settings, apart from what a row fixes.

    Raises:
        UsageError: no program has a setting of this name, all rows that have it fix it, or a program cannot have the
            value.
    """
    rows = [(table, row) for table in tables for row in table.rows]
    known = {name for _, row in rows for name in settings_of(row.program)}
    if unknown := sorted(settings.keys() - known):
        raise UsageError(f"no program here has the setting {unknown[0]!r}; there are: {', '.join(sorted(known))}")
    for name in settings:
        having = [(table, row) for table, row in rows if name in settings_of(row.program)]
        if all(name in table.fixed_in(row) for table, row in having):
            names = "; ".join(dict.fromkeys(row.name for _, row in having))
            raise UsageError(f"--set {name} is refused: it makes the rows what they are ({names})")
    for table, row in rows:
        program = program_of(row.program)
        given = {name: settings[name] for name in settings.keys() - table.fixed_in(row)}
        check(program.__init__, program.__name__, given)


def states(assignments: Sequence[str]) -> list[State]:
    """State files, from PROGRAM[:TASK]=FILE.

    Raises:
        UsageError: one is not of that form, or there is no such program or task.
    """
    found = []
    for name, file in _pairs(assignments, "a state is given as PROGRAM[:TASK]"):
        program, colon, task = name.partition(":")
        programs.load(program)
        if colon:
            choose(task)
        found.append(State(program, task if colon else None, file))
    return found


def _pairs(assignments: Sequence[str], form: str) -> list[tuple[str, str]]:
    pairs = []
    for text in assignments:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise UsageError(f"{form}=VALUE, not {text!r}")
        pairs.append((name, value))
    return pairs


def _value(text: str) -> Any:
    try:
        return {"True": True, "False": False}[text] if text in ("True", "False") else json.loads(text)
    except ValueError:
        return text
