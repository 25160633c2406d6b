"""What pages of this folder ask for when the site is built, as in `{{ tables("blendfilter") }}`."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import optimizers
import programs
from eval.papers.tables import PAPERS, Column, Table, TableRow, paper
from eval.records.lines import Line, read_lines

_OURS = read_lines(Path(__file__).parent / "methods" / "table.csv", Line)
_KINDS = {"table": "Table ", "fig": "Figure "}


def define_env(env: Any) -> None:
    """Give the pages their macros."""
    for macro in (methods, overview, recipes, tables):
        env.macro(macro)


def methods() -> str:
    """The reference of every method."""
    return "\n\n".join(f"::: programs.{name}" for name in programs.names())


def recipes() -> str:
    """The reference of every recipe."""
    return "\n\n".join(f"::: optimizers.recipes.{name}" for name in optimizers.names())


def overview() -> str:
    """The papers, with how many tables and figures each has here."""
    rows = [[f"[{paper(name).source}]({name}.md)", str(len(paper(name).tables))] for name in PAPERS]
    return "\n".join(_table(["paper", "tables and figures"], rows))


def tables(name: str) -> str:
    """All tables and figures of a paper."""
    return "\n".join(line for table in paper(name).tables for line in _section(table))


def _section(table: Table) -> Iterable[str]:
    short = table.name.partition(":")[2]
    (number,) = [f"{word}{short.removeprefix(kind)}" for kind, word in _KINDS.items() if short.startswith(kind)]
    columns = [column.name for column in table.columns]
    yield from (f"## {number}: {table.title}", "", f"    odqa eval paper {table.name}", "")
    yield from (f"- LM: {table.lm}", f"- Retrieval: {table.corpus}", *([f"- {table.note}"] if table.note else []), "")
    if any(figure is not None for row in table.rows for figure in row.figures):
        yield "The paper's figures:"
        yield ""
        yield from _table(["", *columns], [[row.name, *map(_figure, table.columns, row.figures)] for row in table.rows])
    else:
        yield f"The paper prints no figures. Rows: {'; '.join(row.name for row in table.rows)}."
    yield ""
    ours = [line for row in table.rows for line in _ours(row, table)]
    if ours:
        shown = [n for n in range(len(columns)) if any(cells[n] for _, _, cells in ours)]
        yield "Ours so far, each with its 95 % interval:"
        yield ""
        heads = ["", "our LM", *(columns[n] for n in shown)]
        yield from _table(heads, [[row, lm, *(cells[n] for n in shown)] for row, lm, cells in ours], left=2)
    else:
        yield "Ours: no figures yet."
    yield ""


def _ours(row: TableRow, table: Table) -> Iterable[tuple[str, str, list[str]]]:
    """For each LM that was asked with the row's program, as it is by default: the row, the LM and the figures."""
    if row.settings or row.top_p or row.retriever == "none":
        return
    ran = [line for line in _OURS if line.program == row.program and line.n and not line.variant]
    for lm in dict.fromkeys(line.lm for line in ran):
        by_measure = {(line.task, line.metric): line for line in ran if line.lm == lm}
        found = [
            by_measure.get(((column.task or "").partition(":")[0], column.metric or "")) for column in table.columns
        ]
        if any(found):
            yield row.name, lm, ["" if line is None else _score(line, table.scale) for line in found]


def _score(line: Line, scale: int) -> str:
    digits = 1 if scale == 100 else 3
    score, low, high = (f"{scale * share:.{digits}f}" for share in (line.score, line.score_low, line.score_high))
    return f"{score} [{low}, {high}]"


def _figure(column: Column, figure: Decimal | None) -> str:
    return "–" if figure is None else f"{figure}{column.unit}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> Iterable[str]:
    for cells in (heads, [":--" if n < left else "--:" for n in range(len(heads))], *rows):
        yield f"| {' | '.join(cells)} |"
