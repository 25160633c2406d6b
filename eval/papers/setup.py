"""What the rows of a table are run with: the caller's LM, retrievers, settings and state files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy

import programs
from eval.papers.migres_studies import STUDIES
from eval.papers.tables import Table
from eval.records.record import Row
from eval.runs.request import Pace
from eval.tasks import choose
from eval.tasks.demonstrations.training import Shown
from odqa.limits import Limiter
from programs.instruments import settings as instruments
from programs.steps.settings import check
from retrieval import Retriever, UsageError

__all__ = ["MakeLM", "Setup", "check_settings", "check_states", "program_of", "settings_of"]

MakeLM = Callable[[Sequence[dspy.Example], Retriever | None, int], dspy.LM]
"""Gives the LM for questions, a retriever and a seed."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What the rows are run with."""

    lms: Mapping[str, MakeLM]
    """By role: one of `eval.papers.roles.lm_roles`, or "" for all that are not named."""
    retrievers: Mapping[str, tuple[str, Retriever]]
    """The name of a retriever and the retriever itself, by role: one of `eval.papers.roles.retriever_roles`, or "" for
    all that are not named, except `oracle`, whose corpus has the data sets' own passages among the others. ROLE@TASK
    and @TASK are for the questions of one task alone."""
    directory: Path
    """Where the directories of the runs go."""
    known: Mapping[str, Path] = field(default_factory=dict)
    """Runs that stand for rows which ask the same, as `eval.runs.found.known_runs` gives them."""
    limit: int | None = None
    """Ask only the first so many questions of each task."""
    data: str | Path | None = None
    """Directory with local copies of the data sets; see `eval.tasks.load`."""
    judge: str | None = None
    """The LM of acc_judge, as `eval.metrics.load` takes it; None leaves that metric out."""
    judge_api_base: str | None = None
    """Address of an OpenAI-compatible server that has it."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """By name, for all rows whose programs have them. They replace those of the table, but not what a
    row fixes; see `eval.papers.tables.Table.fixed_in`."""
    states: Mapping[str, str] = field(default_factory=dict)
    """State files, with the demonstrations that the papers show, by PROGRAM, or by PROGRAM:TASK for one task alone."""
    demonstrations: int | None = None
    """How many labelled demonstrations each predictor gets, in rows where the paper shows some and there is no state
    file; 0 for none, None for as many as the row says."""
    seed: int = 0
    """Number of this attempt at the questions, for the LMs; another one gives other runs."""
    cache: bool = False
    """Use the replies in DSPy's cache; see `eval.runs.runner.evaluate`."""
    pace: Pace = field(default_factory=Pace)
    """Where and how fast the questions are asked."""
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


def program_of(name: str) -> type[dspy.Module]:
    """What a row runs: a program, or the module of a study."""
    return STUDIES[name] if name in STUDIES else programs.load(name)


def settings_of(name: str) -> dict[str, Any]:
    """The settings of what a row runs, by name, with their defaults."""
    return {setting.name: setting.default for setting in instruments.settings_of(program_of(name))}


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


def check_states(states: Mapping[str, str]) -> None:
    """Check that the programs and tasks of state files exist, and the files too.

    Raises:
        UsageError: one does not.
    """
    for name, file in states.items():
        program, colon, task = name.partition(":")
        programs.load(program)
        if colon:
            choose(task)
        if not Path(file).is_file():
            raise UsageError(f"there is no state file {file}")
