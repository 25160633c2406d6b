"""An answerer: a method with all that it answers with and the figures it was chosen by, in one TOML file.

    program = "blendfilter"                   a name of `odqa ask`
    retriever = "bm25:my-index"               as --retriever takes it
    lm = "openai/gpt-4o-mini"                 as --lm takes it
    adapter = "json"                          as --adapter takes it; likewise structured
    settings = { k = 5 }                      of the program
    lm_settings = { temperature = 0.0 }       further arguments of `lms.load`, api_base among them
    state = { file = "answerer.state.json", sha256 = "…" }      compiled prompts, in a file beside this one
    [chosen]                                  see `Chosen`

Only `program` is needed. Paths of indexes, models and states are relative to the directory of the file. Nothing in the
file is executed. It holds no secrets: keys come from the environment. A server that it names is sent the key of its
provider, so look at a file from elsewhere before you use it.
"""

import logging
import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import dspy
from pydantic import BaseModel, ConfigDict, Field, ValidationError

import programs
from odqa.files import read_whole, write_whole
from odqa.reading import read_toml
from odqa.secrets import public
from programs.instruments import settings
from programs.instruments.adapters import Structured, load_adapter
from programs.steps.settings import check
from retrieval import AnyRetriever, UsageError
from retrieval import load as load_retriever
from retrieval.compositions import with_path

__all__ = ["Answerer", "Chosen", "Figure", "State", "make", "named_answerer", "read_answerer", "write_answerer"]

logger = logging.getLogger(__name__)

_FIRST_LINE = "# An answerer of dspy-odqa, for: odqa ask @FILE 'QUESTION', odqa serve @FILE, odqa.load('FILE')"
# Of the kinds of errors that pydantic has:
_PROBLEMS = {"extra_forbidden": "there is no such key", "missing": "this key is needed"}


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Figure(_Table):
    """A score over questions, with its interval."""

    questions: Annotated[int, Field(ge=0)]
    score: float
    """The mean, from 0 to 1."""
    low: float
    """Where the interval of the mean begins."""
    high: float
    """Where it ends."""


class Chosen(_Table):
    """What the answerer was chosen by."""

    task: str
    """The questions, as `odqa choose` was given them."""
    goal: str
    """The metric."""
    said: str
    """Why it is recommended, as a sentence."""
    raced: Figure
    """In the race; its interval allows for the choosing."""
    aside: Figure | None = None
    """On the questions that were kept aside, which no choice was made by: its quality. None where there were none."""
    direct: Figure | None = None
    """The method direct on the questions that were kept aside."""
    prices: Mapping[str, float] = {}
    """What a question costs in the mean, by the names of `eval.choosing.record.Price`."""


class State(_Table):
    """A state file; see `programs.instruments.state`."""

    file: str
    sha256: str
    """Of its bytes, in hexadecimal."""


class Answerer(_Table):
    """A method with all that it answers with. Here paths are as the process sees them: relative to where it runs."""

    program: str
    """Its name; see `programs.names`."""
    settings: Mapping[str, bool | int | float | str] = {}
    """Of the program, by name; where one is not named, the program's default holds."""
    retriever: str = "sample"
    """As `retrieval.load` takes it; none for closed book."""
    lm: str = "auto"
    """As `lms.load` takes it."""
    lm_settings: Mapping[str, Any] = {}
    """Further arguments of `lms.load`."""
    adapter: Literal["chat", "json", "xml"] | None = None
    """As `load_adapter` takes it; likewise `structured`. None for that of the LM: json for a model of this process."""
    structured: Structured = "auto"
    state: State | None = None
    chosen: Chosen | None = None

    @property
    def state_file(self) -> str | None:
        """The path of the state file."""
        return self.state.file if self.state else None


def read_answerer(path: str | Path) -> Answerer:
    """The answerer in a file.

    Raises:
        UsageError: the file cannot be read, is not of the form above, or its state is not the one that was written
            with it; the message names the file and the key.
    """
    path = Path(path)
    try:
        read = Answerer.model_validate(read_toml(path))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        problem = _PROBLEMS.get(first["type"], first["msg"].removeprefix("Input "))
        raise UsageError(f"{path}: {'.'.join(map(str, first['loc']))}: {problem}") from None

    def here(name: str) -> str:
        return os.path.normpath(path.parent / name)

    try:
        made_with = programs.load(read.program)
        settings.check_names(read.program, read.settings, settings.settings_of(made_with))
        check(made_with.__init__, read.program, read.settings)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    state = read.state and State(file=here(read.state.file), sha256=read.state.sha256)
    if state and sha256(_content(state.file)).hexdigest() != state.sha256:
        raise UsageError(f"{state.file} is not the state that {path} was written with: its SHA-256 differs")
    found = {"lm": _with_file(read.lm, here), "retriever": with_path(read.retriever, here), "state": state}
    return read.model_copy(update={name: value for name, value in found.items() if name in read.model_fields_set})


def named_answerer(word: str) -> Answerer | None:
    """The answerer that a word of a command line names as @FILE.toml; None where it names none.

    Raises:
        UsageError: as `read_answerer`.
    """
    return read_answerer(word[1:]) if word.startswith("@") and word.endswith(".toml") else None


def write_answerer(path: str | Path, answerer: Answerer, *, state: str | Path | None = None) -> None:
    """Write the answerer to a file, whole or not at all.

    All settings of the program are written, so that another default of a later version changes nothing. What is secret
    is left out, which a logged warning says: a password in an address is written as ***, an argument of the LM whose
    name tells a secret not at all.

    Args:
        path: Where to; ends in .toml.
        answerer: What to write; its `state` is not looked at.
        state: A state file, which is copied beside the file as NAME.state.json, unless it is that already.

    Raises:
        UsageError: there is no such program, the state cannot be read, or a file cannot be written.
    """
    import tomli_w  # only writers need it

    path = Path(path)

    def there(name: str) -> str:
        name = os.path.expanduser(name)
        return name if os.path.isabs(name) else os.path.relpath(name, path.parent)

    usual = {setting.name: setting.default for setting in settings.settings_of(programs.load(answerer.program))}
    given = {
        "retriever": with_path(answerer.retriever, there),
        "lm": _with_file(answerer.lm, there),
        "lm_settings": _without_none(answerer.lm_settings),
    }
    kept = public(given)
    if kept != given:
        logger.warning("%s keeps no secrets: give those of the LM or the retriever where it is used", path)
    table = answerer.model_dump(exclude_none=True, exclude={"state"})
    table |= {**kept, "settings": _without_none({**usual, **answerer.settings})}
    table = {name: value for name, value in table.items() if value != {}}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if state is not None:
            content, beside = _content(state), path.with_name(f"{path.stem}.state.json")
            write_whole(beside, content)
            table["state"] = {"file": beside.name, "sha256": sha256(content).hexdigest()}
        write_whole(path, f"{_FIRST_LINE}\n{tomli_w.dumps(table)}")
    except OSError as error:
        raise UsageError(f"cannot write the answerer {path}: {error.strerror}") from None


def make(answerer: Answerer, retriever: AnyRetriever | None, adapter: str | None) -> dspy.Module:
    """The program of the answerer, with its settings and state, which asks under its adapter wherever it is called.

    Args:
        answerer: As `read_answerer` gives it.
        retriever: In place of the answerer's; None for that one.
        adapter: The name of the adapter where the answerer names none.

    Raises:
        UsageError: the retriever is not there, or the program needs one, or the state does not fit.
        RetrievalError: the index is damaged.
    """
    if retriever is None and answerer.retriever != "none":
        retriever = load_retriever(answerer.retriever)
    form = load_adapter(answerer.adapter or adapter, answerer.structured)
    program = programs.load(answerer.program)
    with dspy.context(adapter=form):  # a state says under which it was made
        made = settings.make(program, retriever, answerer.settings, answerer.state_file)
    made.adapter = form
    return made


def _content(file: str | Path) -> bytes:
    try:
        return read_whole(file)
    except OSError as error:
        raise UsageError(f"cannot read the state file {file}: {error.strerror}") from None


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has no word for None."""
    return {name: value for name, value in table.items() if value is not None}


def _with_file(lm: str, change: Callable[[str], str]) -> str:
    """The name of an LM with the path of its file, if it has one, changed; gguf:OWNER/NAME:FILE is on the hub."""
    kind, _, file = lm.partition(":")
    return f"{kind}:{change(file)}" if kind == "gguf" and ":" not in file else lm
