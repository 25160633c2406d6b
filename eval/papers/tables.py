"""The tables and figures of the four papers: their types, and `find`, which reads them.

Each paper has a TOML file in this folder, and the names in it are those of the types here, with three shortcuts:

- A list of columns that several tables have stands once, under `columns`, and a table names it.
- A table may say `retriever`, `reader`, `planner` and `demonstrations` for all of its rows that do not say otherwise.
- A row without `figures` has none in any column: those of an image, or a figure that only its text speaks of.
"""

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from retrieval import UsageError

__all__ = ["PAPERS", "Column", "Paper", "Table", "TableRow", "all_tables", "find", "paper", "parse"]

PAPERS = ("blendfilter", "qpaug", "chain_of_rewrite", "migres")
"""Each is a TOML file in this folder."""

_OF_ROWS = ("retriever", "reader", "planner", "demonstrations")

Figure = Annotated[Decimal | None, BeforeValidator(lambda value: None if value == "-" else value)]
"""As the paper prints it, with all its digits; None, "-" in the file, where it prints none."""
# Numbers come from the file as decimals, so that figures keep their zeros. Settings are to be plain numbers.
Setting = Annotated[
    bool | int | float | str, BeforeValidator(lambda value: float(value) if isinstance(value, Decimal) else value)
]
"""The value of a program's setting."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Column(_Model):
    """A column of a table. One without a task has the paper's figures alone; any other has one thing to be measured."""

    name: str
    """What the paper calls it."""
    unit: str = ""
    """Stands behind each of the paper's figures: %, or /500 for so many of 500 questions."""
    task: str | None = None
    """The questions, as `eval.tasks.load` takes it."""
    metric: str | None = None
    """A score from 0 to 1, as `eval.metrics.load` takes it, or one of the row's study."""
    ratio: str | None = None
    """A figure over all questions of the row's study, by its name there."""
    count: Literal["lm_calls", "iterations", "passages_shown"] | None = None
    """A number per question that `eval.figures.costs` gives."""
    reported: str | None = None
    """The field of the program's result with a number for each question; their mean is the figure."""

    @model_validator(mode="after")
    def _one_measure(self) -> "Column":
        measures = [self.metric, self.ratio, self.count, self.reported]
        if sum(measure is not None for measure in measures) != (self.task is not None):
            raise ValueError(f"the column {self.name!r} needs a task and one measure, or neither")
        return self


class TableRow(_Model):
    """A row of a table: what the paper prints, and what is run for it.

    The roles `retriever`, `reader` and `planner` say which of the paper's retrievers and LMs the row has.
    """

    name: str
    """What the paper calls it."""
    figures: tuple[Figure, ...]
    """The paper's, one for each column."""
    program: str
    """A program, or a study of `eval.papers.migres_studies`."""
    settings: Mapping[str, Setting] = {}
    """Of the program, by name."""
    needs: tuple[str, ...] = ()
    """Settings without which the row is not run, and which the caller gives: they name weights or an index."""
    demonstrations: Literal["none", "optional", "required"] = "optional"
    """Whether the prompts show examples: none, even if the caller has a state file for the program; those of the state
    file, if there is one; or those of the state file, without which the row is not run."""
    top_p: tuple[float, ...] = ()
    """One answer is asked for with each of these, and the best one counts; if empty, one answer with the LM's own."""
    retriever: str
    """One of the paper's retrievers; "none" for closed book; "oracle" for the retriever of an oracle corpus, with the
    data sets' own passages in it."""
    reader: str | None = None
    """The LM that answers; None where no figure depends on answers."""
    planner: str | None = None
    """The LM of the calls before the answer that plan or rewrite, where the paper has another one than the reader for
    them, or the figures depend on these calls alone."""


class Table(_Model):
    """A table or a figure of a paper."""

    name: str
    """Such as blendfilter:table1."""
    source: str
    """The paper: authors, method, where it appeared."""
    title: str
    lm: str
    """The paper's LM, in words."""
    corpus: str
    """The paper's retriever and corpus, in words."""
    scale: Literal[1, 100]
    """What a score of 1 is printed as."""
    note: str = ""
    settings: Mapping[str, Setting] = {}
    """For all rows whose programs have them; a row's own come first."""
    settings_by_task: Mapping[str, Mapping[str, Setting]] = {}
    """By the task's name without variant, for all rows whose programs have them; what a table or a row says comes
    first."""
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]

    @model_validator(mode="after")
    def _as_many_figures_as_columns(self) -> "Table":
        if wrong := [row.name for row in self.rows if len(row.figures) != len(self.columns)]:
            raise ValueError(
                f"{self.name}: the row {wrong[0]!r} needs {len(self.columns)} figures, one for each column"
            )
        return self


class Paper(_Model):
    """A paper, with the tables and figures of it that are evaluations."""

    source: str
    """Authors, method, where it appeared."""
    lms: tuple[str, ...]
    """What `reader` and `planner` can be."""
    retrievers: tuple[str, ...]
    """What `retriever` can be, besides "none" and "oracle"."""
    tables: tuple[Table, ...]

    @model_validator(mode="after")
    def _roles_exist(self) -> "Paper":
        for table in self.tables:
            for row in table.rows:
                lms = {row.reader, row.planner} - {None, *self.lms}
                if unknown := sorted(map(str, lms | {row.retriever} - {"none", "oracle", *self.retrievers})):
                    raise ValueError(f"{table.name}: the row {row.name!r} has the unknown role {unknown[0]!r}")
        return self


@cache
def paper(name: str) -> Paper:
    """One of `PAPERS`.

    Raises:
        pydantic.ValidationError: its file does not have the form of these types.
    """
    return parse(name, Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Paper:
    """The paper of this name from the text of its file.

    Raises:
        tomllib.TOMLDecodeError: it is no TOML.
        pydantic.ValidationError: it does not have the form of these types.
    """
    file = tomllib.loads(text, parse_float=Decimal)
    shared, by_task = file.pop("columns", {}), file.pop("settings_by_task", {})
    tables = []
    for key, table in file.pop("tables", {}).items():
        columns = [one for item in table.get("columns", ()) for one in _columns(item, shared)]
        for_rows = {role: table.pop(role) for role in _OF_ROWS if role in table}
        rows = [{"figures": ["-"] * len(columns), **for_rows, **row} for row in table.get("rows", ())]
        whole = {**table, "name": f"{name}:{key}", "source": file.get("source"), "settings_by_task": by_task}
        tables.append({**whole, "columns": columns, "rows": rows})
    return Paper.model_validate({**file, "tables": tables})


def all_tables() -> list[Table]:
    """The tables and figures of all papers."""
    return [table for name in PAPERS for table in paper(name).tables]


def find(name: str) -> Table:
    """The table or figure of this name, such as blendfilter:table1.

    Raises:
        UsageError: there is none.
    """
    for table in all_tables():
        if table.name == name:
            return table
    raise UsageError(f"there is no table {name!r}: python -m eval paper lists them")


def _columns(item: Any, shared: Mapping[str, list[Any]]) -> list[Any]:
    """A column, or the columns that the file has under a name."""
    if not isinstance(item, str):
        return [item]
    if item not in shared:
        raise ValueError(f"there are no columns named {item!r}")
    return shared[item]
