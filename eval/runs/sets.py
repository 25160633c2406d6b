"""A set of runs as a TOML file: what `odqa eval set` runs.

    tasks = ["hotpotqa", { task = "strategyqa", limit = 50, settings = { style = "yesno" } }]
    programs = ["direct", { program = "blendfilter", settings = { k = [3, 5, 10] } }]
    lms = ["oracle", { lm = "openai/my-model", api_base = "http://localhost:8000/v1", temperature = 0.7 }]
    retrievers = "bm25:wiki17"
    seeds = [0, 1, 2]
    limit = 100

Each entry of a list is combined with each entry of the others. The names in the file are those of the types here.
"""

from collections.abc import Iterator, Mapping
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

import programs
from eval.runs.request import Request
from odqa.reading import read_toml
from programs.instruments.adapters import Structured
from programs.steps.settings import check
from retrieval import UsageError

__all__ = ["RunSet", "combinations", "make_set", "read_set"]

_Entry = TypeVar("_Entry")

_SAID = {"missing": "it is missing", "too_short": "it is empty"}  # of pydantic's kinds of errors

ALL = "all"
"""As a program: all that the list does not name besides."""

Several = Annotated[
    tuple[_Entry, ...], BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else (value,))
]
"""A list, or one thing alone."""
Value = bool | int | float | str
"""Of a program's setting."""
Settings = Mapping[str, Annotated[Several[Value], Field(min_length=1)]]
"""By the name of the setting, the values to be tried, one or several."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        """A text stands for a table with the first name alone. What is not known is refused with what there is."""
        if isinstance(given, str):
            given = {next(iter(cls.model_fields)): given}
        if isinstance(given, dict) and (unknown := [name for name in given if name not in cls.model_fields]):
            raise ValueError(f"there is no {unknown[0]!r} here; there are: {', '.join(cls.model_fields)}")
        return given


class TaskEntry(_Model):
    """A task. In the file, its name alone will do; so it is with the other entries."""

    task: str
    """As `eval.tasks.load` takes it."""
    limit: int | None = Field(None, ge=1)
    """Only the first so many questions."""
    metrics: Several[str] = ()
    retrievers: Several[str] = ()
    settings: Settings = {}
    """For the programs that have them."""


class ProgramEntry(_Model):
    """A program. Its retrievers and settings come before those of a task, and these before those of the set."""

    program: str
    """Its name, or all for every program that is not named besides."""
    settings: Settings = {}
    retrievers: Several[str] = ()
    state: str | None = None
    """A state file."""
    demonstrations: int | None = Field(None, ge=1)
    """Labelled demonstrations for each predictor."""
    tasks: Several[str] = ()
    """Only these of the set's tasks."""
    limit: int | None = Field(None, ge=1)
    """Only the first so many questions; comes before that of a task, and this before that of the set."""


class LMEntry(_Model):
    """A language model with the flags of `odqa eval` that say how it is asked."""

    lm: str
    """As --lm takes it."""
    api_base: str | None = None
    temperature: float | None = Field(None, ge=0, allow_inf_nan=False)
    max_tokens: int | None = Field(None, ge=1)
    lm_args: Mapping[str, Any] = {}
    """Further arguments of dspy.LM or of a local model, as --lm-arg."""

    def settings(self) -> dict[str, Any]:
        """All but the name, as `lms.load` takes them.

        Raises:
            UsageError: one is given twice.
        """
        own = self.model_dump(include={"api_base", "temperature", "max_tokens"}, exclude_none=True)
        if twice := own.keys() & self.lm_args.keys():
            raise UsageError(f"{twice.pop()} of the LM is given twice")
        return {**own, **self.lm_args}


class AdapterEntry(_Model):
    """The form in which the LM is asked, with the names that `programs.instruments.adapters` has."""

    adapter: Literal["chat", "json", "xml"] | None = None
    structured: Structured = "auto"


class RunSet(_Model):
    """What is combined with what. Where the file has no LMs, retrievers or adapters, the usual ones are taken."""

    tasks: Several[TaskEntry] = Field(min_length=1)
    programs: Several[ProgramEntry] = Field(min_length=1)
    lms: Several[LMEntry] = ()
    retrievers: Several[str] = ()
    adapters: Several[AdapterEntry] = ()
    seeds: Several[int] = Field((0,), min_length=1)
    """Only the first one is run where others give the same replies."""
    settings: Settings = {}
    """For the programs that have them."""
    limit: int | None = Field(None, ge=1)
    metrics: Several[str] = ()
    judge_api_base: str | None = None
    cache: bool = False


def read_set(file: str | Path) -> RunSet:
    """The set that a TOML file describes.

    Raises:
        UsageError: the file cannot be read, or is not as the types here say; the message says where and what there is.
    """
    return make_set(read_toml(file), str(file))


def make_set(content: Mapping[str, Any], where: str) -> RunSet:
    """The set that is described as a file would describe it.

    Args:
        content: As TOML has it.
        where: It comes from; what is wrong with it begins with that.

    Raises:
        UsageError: as `read_set`.
    """
    try:
        made = RunSet.model_validate(content)
    except ValidationError as error:
        wrong = error.errors()[0]
        place = " ".join(str(part + 1) if isinstance(part, int) else part for part in wrong["loc"])
        message = _SAID.get(wrong["type"], wrong["msg"].removeprefix("Value error, ").removeprefix("Input "))
        raise UsageError(f"{where}: {place + ': ' if place else ''}{message}") from None
    try:
        _check_settings(made)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None
    return made


def combinations(made: RunSet, usual: Mapping[str, Any]) -> Iterator[Request]:
    """The runs of the set, but for their seeds: task by task, program by program, in the order of the file.

    Args:
        made: The set.
        usual: Fields of `Request` where the set does not say otherwise.
    """
    for task, entry in product(made.tasks, _programs(made)):
        if not _asks(entry, task):
            continue
        known = _settings_of(entry.program)
        given = {**made.settings, **task.settings, **entry.settings}
        axes = {name: values for name, values in given.items() if name in known}
        retrievers = entry.retrievers or task.retrievers or made.retrievers
        for values, retriever, lm, adapter in product(
            product(*axes.values()), retrievers or (None,), made.lms or (None,), made.adapters or (None,)
        ):
            chosen = {
                **usual,
                "limit": entry.limit or task.limit or made.limit,
                "metrics": task.metrics or made.metrics,
                "state": entry.state,
                "demonstrations": entry.demonstrations,
                "judge_api_base": made.judge_api_base,
                "cache": made.cache,
                **({} if retriever is None else {"retriever": retriever}),
                **({} if lm is None else {"lm": lm.lm, "lm_settings": lm.settings()}),
                **({} if adapter is None else adapter.model_dump()),
            }
            settings = dict(zip(axes, values, strict=True))
            yield Request(task=task.task, program=entry.program, settings=settings, **chosen)


def _programs(made: RunSet) -> Iterator[ProgramEntry]:
    """The programs, each by its own name."""
    named = {entry.program for entry in made.programs}
    for entry in made.programs:
        for name in programs.names() if entry.program == ALL else [entry.program]:
            if entry.program != ALL or name not in named:
                yield entry.model_copy(update={"program": name})


def _asks(entry: ProgramEntry, task: TaskEntry) -> bool:
    return not entry.tasks or task.task in entry.tasks


def _settings_of(program: str) -> set[str]:
    parameters = signature(programs.load(program).__init__).parameters.values()
    return {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}


def _check_settings(made: RunSet) -> None:
    """Check that the programs exist, and that they can be made with the settings.

    Raises:
        UsageError: there is no such program, no program has a setting of this name, or a value does not fit.
    """
    entries = list(_programs(made))
    known = {entry.program: _settings_of(entry.program) for entry in entries}
    of_all = [made.settings, *(task.settings for task in made.tasks)]
    for given, names in [
        *((entry.settings, known[entry.program]) for entry in entries if entry.program in known),
        *((given, {name for names in known.values() for name in names}) for given in of_all),
    ]:
        if unknown := sorted(given.keys() - names):
            raise UsageError(f"no program here has the setting {unknown[0]!r}; there are: {', '.join(sorted(names))}")
    tasks = [task.task for task in made.tasks]
    if unknown := [task for entry in entries for task in entry.tasks if task not in tasks]:
        raise UsageError(f"no task here is {unknown[0]!r}; there are: {', '.join(tasks)}")
    for entry in entries:
        program = programs.load(entry.program)
        of_tasks = [task.settings for task in made.tasks if _asks(entry, task)]
        for given in (made.settings, *of_tasks, entry.settings):
            for name, value in ((name, value) for name, values in given.items() for value in values):
                check(program.__init__, program.__name__, {name: value})
