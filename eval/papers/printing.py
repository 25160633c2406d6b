"""The papers' tables as text: the list of them, a table as the paper has it, and the paper's figures beside ours."""

from collections import defaultdict
from decimal import Decimal

from eval.papers.running import Cell, TableRun
from eval.papers.tables import PAPERS, Column, Table, paper
from eval.reports.text import align

__all__ = ["beside", "listing", "show"]


def listing() -> str:
    """All tables and figures, by paper, with the number of their rows."""
    parts = []
    for name in PAPERS:
        lines = [[table.name, str(len(table.rows)), table.title] for table in paper(name).tables]
        parts += [paper(name).source, align([["", "rows", ""], *lines], left=(0, 2)), ""]
    return "\n".join(parts).rstrip()


def show(table: Table) -> str:
    """The table as the paper has it."""
    lines = [["", *(column.name for column in table.columns)]]
    for row in table.rows:
        lines.append([row.name, *map(_figure, table.columns, row.figures)])
    return "\n".join([*_heading(table), "", align(lines)])


def beside(ran: TableRun) -> str:
    """The paper's figures beside ours, what was not run and why, and what differs from the paper."""
    rows = [
        [cell.row.name, cell.column.name, _figure(cell.column, cell.paper), *_ours(cell, ran.table.scale)]
        for cell in ran.cells
    ]
    parts = [*_heading(ran.table), "", align([["", "", "paper", "ours", "95 %", "n"], *rows], left=(0, 1))]
    missing: dict[str, dict[str, None]] = defaultdict(dict)  # names of rows, by the reason
    for cell in ran.cells:
        if cell.why_not:
            missing[cell.why_not][cell.row.name] = None
    parts += ["", "Not run:", *(f"  {'; '.join(names)}: {text}" for text, names in missing.items())] if missing else []
    parts += ["", "What differs from the paper:", *(f"  {text}" for text in ran.differences)] if ran.differences else []
    return "\n".join(parts)


def _heading(table: Table) -> list[str]:
    heading = [f"{table.name}: {table.title} ({table.source})", f"LM: {table.lm}", f"Retrieval: {table.corpus}"]
    scored: dict[str, list[str]] = defaultdict(list)  # columns by metric
    for column in table.columns:
        if column.metric:
            scored[column.metric].append(column.name)
    if scored:
        heading.append("Metrics: " + "; ".join(f"{metric} ({', '.join(names)})" for metric, names in scored.items()))
    return [*heading, table.note] if table.note else heading


def _figure(column: Column, figure: Decimal | None) -> str:
    return "-" if figure is None else f"{figure}{column.unit}"


def _ours(cell: Cell, scale: int) -> list[str]:
    ours = cell.ours
    if ours is None:
        return ["-", "", ""]
    digits = 1 if scale == 100 or cell.column.gain else 3
    if ours.low is None or ours.high is None:
        return [f"{ours.value:.{1 if cell.column.gain else 2}f}", "", str(ours.n)]
    return [f"{ours.value:.{digits}f}", f"[{ours.low:.{digits}f}, {ours.high:.{digits}f}]", str(ours.n)]
