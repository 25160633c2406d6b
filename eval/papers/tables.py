"""The tables and figures of the four papers: their types, and `find`, which reads them.

Each paper has a TOML file in this folder, and the names in it are those of the types here, with four shortcuts:

- A list of columns that several tables have stands once, under `columns`, and a table names it.
- A table may say `retriever`, `reader`, `planner` and `demonstrations` for all of its rows that do not say otherwise.
- `settings_by_task`, `planners`, `models`, `fixed` and `greedy` stand once, for all tables of the paper.
- A row without `figures` has none in any column: those of an image, or a figure that only its text speaks of.
"""

import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PositiveInt

from retrieval import UsageError

__all__ = ["PAPERS", "Column", "Gain", "Paper", "Table", "TableRow", "all_tables", "choose", "find", "paper", "parse"]

PAPERS = ("blendfilter", "qpaug", "chain_of_rewrite", "migres")
"""Each is a TOML file in this folder."""

_OF_ROWS = ("retriever", "reader", "planner", "demonstrations")
_OF_PAPER = ("settings_by_task", "planners", "models", "fixed", "greedy")

Figure = Annotated[Decimal | None, BeforeValidator(lambda value: None if value == "-" else value)]
"""As the paper prints it, with all its digits; None, "-" in the file, where it prints none."""
# Numbers come from the file as decimals, so that figures keep their zeros. Settings are to be plain numbers.
Setting = Annotated[
    bool | int | float | str, BeforeValidator(lambda value: float(value) if isinstance(value, Decimal) else value)
]
"""The value of a program's setting."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Gain(_Model):
    """By how many per cent one row is above another."""

    of: str
    """The name of the row that gains."""
    column: str
    """The name of the column that both are compared in."""


class Column(_Model):
    """A column of a table: one thing to be measured on a task, or a figure that other columns give."""

    name: str
    """What the paper calls it."""
    unit: str = ""
    """Stands behind each of the paper's figures: %, or /500 for so many of 500 questions."""
    task: str | None = None
    """The questions, as `eval.tasks.load` takes it."""
    metric: str | None = None
    """A score from 0 to 1, as `eval.metrics.load` takes it, or own:FIELD for a field of the program's result."""
    ratio: tuple[str, str] | None = None
    """Two fields of the program's result with a number for each question: the sum of one through that of the other."""
    total: str | None = None
    """A field of the program's result with a number from -1 to 1 for each question; their sum is the figure."""
    count: Literal["lm_calls", "iterations", "passages_shown"] | None = None
    """A number per question that `eval.figures.costs` gives."""
    reported: str | None = None
    """The field of the program's result with a number for each question; their mean is the figure."""
    gain: Gain | None = None
    """What another row gains over this one."""
    mean: tuple[str, ...] | None = None
    """The columns of the same row whose mean this is."""

    def rests_on(self) -> tuple[str, ...]:
        """The names of the columns that it is computed from."""
        return (self.gain.column,) if self.gain else self.mean or ()


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
    """Of the program, by name; they make the row what it is, and the caller cannot replace them."""
    needs: tuple[str, ...] = ()
    """Settings without which the row is not run, and which the caller gives: they name weights or an index."""
    demonstrations: Literal["none", "optional", "required"] | PositiveInt = "optional"
    """Whether the prompts show examples: none, even if the caller has a state file for the program; those of the state
    file, if there is one; or those of the state file, without which the row is not run. A number is what the paper
    shows: where the caller says nothing of demonstrations, so many are made, if training questions are at hand."""
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
    """For all rows whose programs have them. What the caller sets comes before these, and a row's own before that."""
    settings_by_task: Mapping[str, Mapping[str, Setting]] = {}
    """By the task's name without variant, for all rows whose programs have them; all other settings come before
    these."""
    planners: Mapping[str, tuple[str, ...]] = {}
    """By program, the predictors that a row's planner answers, where the row has one; all others are the reader's."""
    models: Mapping[str, str] = {}
    """By setting, the model that the paper has for it; a kind alone, such as upr, where it does not name one."""
    fixed: Mapping[str, tuple[str, ...]] = {}
    """By program, the settings that tell its rows apart: a row that does not name one has the table's or the program's
    own, and the caller cannot replace it."""
    greedy: bool = False
    """Whether the paper says that its LMs decode greedily."""
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]

    def fixed_in(self, row: TableRow) -> set[str]:
        """The names of the settings that the caller cannot replace in the row."""
        return {*row.settings, *self.fixed.get(row.program, ())}

    def settings_for(self, row: TableRow, task: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a row on a column's task, also those that its program does not have. What the caller gives
        replaces what the row does not fix."""
        own = {**self.settings_by_task.get(task.partition(":")[0], {}), **self.settings}
        fixed = self.fixed_in(row)
        return {**own, **{name: value for name, value in given.items() if name not in fixed}, **row.settings}


class Paper(_Model):
    """A paper, with the tables and figures of it that are evaluations."""

    source: str
    """Authors, method, where it appeared."""
    lms: tuple[str, ...]
    """What `reader` and `planner` can be."""
    retrievers: tuple[str, ...]
    """What `retriever` can be, besides "none" and "oracle"."""
    tables: tuple[Table, ...]


@cache
def paper(name: str) -> Paper:
    """One of `PAPERS`."""
    return parse(name, Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


def parse(name: str, text: str) -> Paper:
    """The paper of this name from the text of its file.

    Raises:
        tomllib.TOMLDecodeError: it is no TOML.
        pydantic.ValidationError: it does not have the form of these types.
    """
    file = tomllib.loads(text, parse_float=Decimal)
    shared = file.pop("columns", {})
    for_tables = {name: file.pop(name) for name in _OF_PAPER if name in file}
    tables = []
    for key, table in file.pop("tables", {}).items():
        items = table.get("columns", ())
        if unknown := [item for item in items if isinstance(item, str) and item not in shared]:
            raise ValueError(f"there are no columns named {unknown[0]!r}")
        named = [shared[item] if isinstance(item, str) else item for item in items]
        columns = [column for item in named for column in (item if isinstance(item, list) else [item])]
        for_rows = {role: table.pop(role) for role in _OF_ROWS if role in table}
        rows = [{"figures": ["-"] * len(columns), **for_rows, **row} for row in table.get("rows", ())]
        whole = {**for_tables, **table, "name": f"{name}:{key}", "source": file.get("source")}
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
    raise UsageError(f"there is no table {name!r}: odqa eval paper lists them")


def choose(tables: Sequence[Table], rows: Sequence[str], columns: Sequence[str]) -> list[Table]:
    """The tables with some of their rows and columns alone; a table that has none of them is left out.

    Args:
        tables: The tables.
        rows: Names of rows, or parts of names, whatever their case; a whole name means that row alone. All rows if
            empty.
        columns: Likewise for columns. Those that a chosen one is computed from are there too.

    Raises:
        UsageError: no row or column of the tables has such a name.
    """
    for kind, texts, named in (
        ("row", rows, [row.name for table in tables for row in table.rows]),
        ("column", columns, [column.name for table in tables for column in table.columns]),
    ):
        if unknown := [text for text in texts if not _named([text], named)]:
            raise UsageError(f"there is no {kind} {unknown[0]!r}; there are: {'; '.join(dict.fromkeys(named))}")
    found = []
    for table in tables:
        at = _named(columns, [column.name for column in table.columns])
        needed = {name for m in at for name in table.columns[m].rests_on()}
        at = [m for m, column in enumerate(table.columns) if m in at or column.name in needed]
        chosen = [table.rows[n] for n in _named(rows, [row.name for row in table.rows])]
        if chosen and at:
            cut = tuple(row.model_copy(update={"figures": tuple(row.figures[m] for m in at)}) for row in chosen)
            found.append(table.model_copy(update={"rows": cut, "columns": tuple(table.columns[m] for m in at)}))
    if not found:
        raise UsageError("no table has both such a row and such a column")
    return found


def _named(texts: Sequence[str], names: Sequence[str]) -> list[int]:
    """Where the names are that the texts name; all of them if there is no text."""
    known = [name.casefold() for name in names]
    wanted: set[int] = set() if texts else set(range(len(known)))
    for text in map(str.casefold, texts):
        wanted |= {n for n, name in enumerate(known) if (name == text if text in known else text in name)}
    return sorted(wanted)
