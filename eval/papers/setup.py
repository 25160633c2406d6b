"""What the rows of a table are run with: the caller's LM, retrievers, settings and state files.

A row of a table names the paper's LMs and its retriever, the roles. The caller gives one of each for all rows, or one
for a role, or a retriever for the questions of a task, since a paper may have another corpus for each data set.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import dspy

import programs
from eval.papers.measuring import NotRun
from eval.papers.migres_studies import STUDIES
from eval.papers.tables import PAPERS, Table, paper
from eval.records.record import Row
from eval.runs.request import Request
from eval.tasks import choose
from eval.tasks.demonstrations.training import Shown
from odqa.limits import Limiter
from programs.instruments import settings as instruments
from programs.steps.settings import check
from retrieval import Retriever, UsageError

__all__ = [
    "MakeLM", "Setup", "by_role", "check_settings", "check_states", "fill", "lm_roles", "program_of", "retriever_roles",
    "settings_of",
]  # fmt: skip

_Given = TypeVar("_Given")
_ALL = ""  # the role of what is given without one

MakeLM = Callable[[Sequence[dspy.Example], Retriever | None, int], dspy.LM]
"""Gives the LM for questions, a retriever and a seed."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What the rows are run with."""

    request: Request
    """What all runs have in common; the row adds its task, program, settings, state and retriever. The settings are for
    all rows whose programs have them, and replace those of the table, but not what a row fixes. The demonstrations are
    for rows in which the paper shows some and there is no state file; 0 for none, None for as many as the row says."""
    lms: Mapping[str, MakeLM]
    """By role: one of `lm_roles`, or "" for all that are not named."""
    retrievers: Mapping[str, tuple[str, Retriever]]
    """The name of a retriever and the retriever itself, by role: one of `retriever_roles`, or "" for all that are not
    named, except `oracle`, whose corpus has the data sets' own passages among the others. ROLE@TASK and @TASK are for
    the questions of one task alone."""
    directory: Path
    """Where the directories of the runs go."""
    known: Mapping[str, Path] = field(default_factory=dict)
    """Runs that stand for rows which ask the same, as `eval.runs.found.known_runs` gives them."""
    judge: str | None = None
    """The LM of acc_judge, as `eval.metrics.load` takes it; None leaves that metric out."""
    states: Mapping[str, str] = field(default_factory=dict)
    """State files, with the demonstrations that the papers show, by PROGRAM, or by PROGRAM:TASK for one task alone."""
    limiter: Limiter = field(default_factory=Limiter)
    """When to stop: one for all runs together."""
    on_demonstrations: Callable[[Shown | str], object] = lambda shown: None
    """Called with the demonstrations of each run, or with why it has none of those of its row."""
    on_run: Callable[[str, str, Path], object] = lambda row, task, directory: None
    """Called with the name of a row, the task and the directory, before the row is run there."""
    on_row: Callable[[Row], object] = lambda row: None
    """Called with each row of each run."""

    def state_file(self, program: str, task: str) -> str | None:
        """The state file for a program on a task, given without variant: its own before the one for all tasks."""
        return self.states.get(f"{program}:{task}", self.states.get(program))


def lm_roles() -> list[str]:
    """`reader` and `planner`, and the LMs of all papers."""
    return list(dict.fromkeys(["reader", "planner", *(lm for name in PAPERS for lm in paper(name).lms)]))


def retriever_roles() -> list[str]:
    """The retrievers of all papers, and `oracle`."""
    return list(dict.fromkeys([*(found for name in PAPERS for found in paper(name).retrievers), "oracle"]))


def by_role(flag: str, texts: Sequence[str], roles: Collection[str], *, by_task: bool = False) -> dict[str, str]:
    """Values by role, from VALUE or ROLE=VALUE; a value without a role has the role "".

    With `by_task`, @TASK may follow a role, or stand in its place: a task's name without variant.

    Raises:
        UsageError: there is no such role or task.
    """
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        role, at, task = key.partition("@") if by_task else (key, "", "")
        if not equals or {":", "/"} & {*key}:  # the value itself has an equals sign
            key, value = _ALL, text
        elif role not in roles and not (at and not role):
            raise UsageError(f"{flag}: there is no role {role!r}; there are: {', '.join(roles)}")
        elif at:
            choose(task)
        found[key] = value
    return found


def fill(given: Mapping[str, _Given], flag: str, *roles: str | None, task: str = "") -> _Given:
    """What the caller gave with the flag for the first of these roles that has something, or else for all roles; what
    is for the task's questions alone comes first. Raises NotRun if there is none."""
    named = [role for role in roles if role is not None]
    for role in [*named, *([] if "oracle" in named else [_ALL])]:
        for key in (f"{role}@{task}", role):
            if key in given:
                return given[key]
    if "oracle" in named:
        raise NotRun(f"needs {flag} oracle=SPEC, over a corpus that odqa eval corpus TASK --add-to CORPUS has made")
    raise NotRun(f"needs {flag} {named[0]}=SPEC, or {flag} SPEC for all")


def program_of(name: str) -> type[dspy.Module]:
    """What a row runs: a program, or the module of a study."""
    return STUDIES[name] if name in STUDIES else programs.load(name)


def settings_of(name: str) -> dict[str, Any]:
    """The settings of what a row runs, by name, with their defaults."""
    return {setting.name: setting.default for setting in instruments.settings_of(program_of(name))}


def check_settings(settings: Mapping[str, Any], tables: Sequence[Table]) -> None:
    """Raise UsageError for a setting that no program of these tables has, that all rows fix, or whose value does not
    fit."""
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


def check_states(states: Mapping[str, str]) -> None:
    """Raise UsageError for the state file of a program or a task that does not exist, and for one that is not there."""
    for name, file in states.items():
        program, colon, task = name.partition(":")
        programs.load(program)
        if colon:
            choose(task)
        if not Path(file).is_file():
            raise UsageError(f"there is no state file {file}")
