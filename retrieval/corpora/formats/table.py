"""CSV and TSV: a section per row."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from retrieval.corpora.formats.section import Document, Section, Unreadable
from retrieval.corpora.formats.text import open_text

__all__ = ["table_sections"]

# In lower case, the first that a table has is taken.
_USUAL = (
    ("text", "passage", "body", "content", "contents", "abstract"),
    ("title", "headline", "subject", "name"),
    ("id", "_id", "pid", "docid", "doc_id", "passage_id"),
)
_DELIMITERS = ",;\t|"

_TOO_MANY = "rows with more cells than the first line, the last ones left out"
_TOO_FEW = "rows with fewer cells than the first line, the others count as blank"
_LONGEST = 1 << 26  # characters of a cell; the standard library's 131,072 are fewer than a long article has


class _Chosen(NamedTuple):
    """The places of the columns that are used, -1 for none."""

    text: int
    title: int
    id: int


def table_sections(document: Document) -> Iterator[Section]:
    """A section per row. The first row names the columns, and shows which of the usual characters parts them.

    The text is that of the text column. A table without one gives the other columns, as lines of ``column: value``.
    The id is that of the id column, else the file's name and the line where the row begins.
    """
    title = document.path.stem
    with open_text(document) as file:
        first = file.readline(1 << 20)
        delimiter = "\t" if document.path.suffix.lower() == ".tsv" else max(_DELIMITERS, key=first.count)
        rows = csv.reader(chain([first], file), delimiter=delimiter, strict=True)
        names: list[str] = []
        lines: defaultdict[str, list[int]] = defaultdict(list)  # what is amiss -> where, told once for all of them
        line = 1
        try:
            for row in _with_long_cells(rows):
                if not names:
                    names = [name.strip() for name in row]
                    columns = _choose(document, names)
                elif any(cell.strip() for cell in row):
                    if len(row) != len(names):
                        more = len(row) > len(names)
                        lines[_TOO_MANY if more else _TOO_FEW].append(line)
                    cells = row[: len(names)]  # and no blank ones instead of those that it lacks: there may be many
                    if text := _text(columns, names, cells):
                        own = _cell(columns.id, cells)
                        if not own and columns.id >= 0:
                            lines[f"rows without an id, which get {document.name}#LINE"].append(line)
                        yield Section(
                            _cell(columns.title, cells) or title, text, own or f"{document.name}#{line}", f"line {line}"
                        )
                    else:
                        lines["rows without text, left out"].append(line)
                line = rows.line_num + 1
        except csv.Error as error:
            raise Unreadable(f"is damaged, left out from line {line} on: {error}") from error
        finally:
            for what, where in lines.items():
                document.tell(f"{what}: {len(where)}, the first one in line {where[0]}")


def _with_long_cells(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows. The limit of a cell is one for the whole process, so it is raised only while a row is read."""
    while True:
        before = csv.field_size_limit(_LONGEST)
        try:
            row = next(rows, None)
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield row


def _choose(document: Document, names: Sequence[str]) -> _Chosen:
    """The columns to use.

    Raises:
        Unreadable: there is no column of a name that was asked for.
    """
    lower = [name.lower() for name in names]
    places = []
    for asked, usual in zip(document.columns, _USUAL, strict=True):
        if asked and asked not in names:
            raise Unreadable(f"has no column {asked!r}, left out: its columns are {', '.join(names)}")
        if asked is None:
            places.append(next((lower.index(name) for name in usual if name in lower), -1))
        else:
            places.append(names.index(asked) if asked else -1)
    return _Chosen(*places)


def _text(columns: _Chosen, names: Sequence[str], cells: Sequence[str]) -> str:
    if columns.text >= 0:
        return _cell(columns.text, cells)
    others = [n for n in range(len(cells)) if n not in columns]
    return "\n".join(f"{names[n]}: {value}" for n in others if (value := _cell(n, cells)))


def _cell(column: int, cells: Sequence[str]) -> str:
    return " ".join(cells[column].split()) if 0 <= column < len(cells) else ""
