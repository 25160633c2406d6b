"""The tables of the page, as values: `tables.html` puts them on it, `files.py` writes them as Markdown and LaTeX."""

from dataclasses import dataclass

from eval.figures.outcomes import Reason
from eval.reports.html.drawing import Axis, Bar, Forest, Named, forest

__all__ = ["Cell", "Column", "Filter", "Line", "Table"]


@dataclass(frozen=True, slots=True)
class Column:
    heading: str
    axis: Axis | None = None
    """Of the drawings in it; None where it has texts."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The questions that a cell counts."""

    outcome: Reason
    run: int
    """Its number, from 0."""


@dataclass(frozen=True, slots=True)
class Cell:
    text: str = ""
    bar: Bar | None = None
    filter: Filter | None = None


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    cells: tuple[Cell, ...]
    part: bool = False
    """Whether it is part of the line above it that is not a part."""
    run: int | None = None
    """The number of the run that it is about."""
    hollow: bool = False
    """Whether that run is a ceiling or a floor."""


@dataclass(frozen=True, slots=True)
class Table:
    id: str
    """Unlike that of any other table or drawing on the page."""
    caption: str
    columns: tuple[Column, ...]
    """The first one has the lines' names."""
    lines: tuple[Line, ...]
    words: bool = False
    """Whether the cells are words and not numbers."""

    @property
    def forest(self) -> Forest | None:
        """Its intervals as a figure, where it has some."""
        axes = [column.axis for column in self.columns if column.axis]
        bars = [
            Named(line.name, cell.bar, line.run, line.hollow) for line in self.lines for cell in line.cells if cell.bar
        ]
        return forest(self.caption, bars, axes[0]) if axes and bars else None

    def texts(self) -> list[list[str]]:
        """The headings and the lines, without the drawings."""
        shown = [n for n, column in enumerate(self.columns) if column.axis is None]
        rows = [[line.name, *(cell.text for cell in line.cells)] for line in self.lines]
        return [[row[n] for n in shown] for row in ([column.heading for column in self.columns], *rows)]
