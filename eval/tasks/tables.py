"""Reads questions from tables: CSV as spreadsheets write it, and TSV."""

import csv
import json
from collections.abc import Iterator
from io import TextIOWrapper
from itertools import chain
from typing import Any, BinaryIO

__all__ = ["BadRow", "rows_of"]

_DELIMITERS = ",;\t|"
_LISTS = ("answers", "gold_titles", "gold_passages")


class BadRow(ValueError):
    """A row is none of a table.

    Attributes:
        number: The line where it begins, counted from 1.
    """

    def __init__(self, number: int, what: str) -> None:
        super().__init__(what)
        self.number = number


def rows_of(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a table with the lines they begin in, as the fields of a question.

    The first row names the columns, in any case, and shows which of the usual characters parts them. Columns of lists
    (`answers`, `gold_titles`, `gold_passages`) hold a JSON list, or texts with a `|` between them. Blank cells count as
    not there.

    Args:
        file: UTF-8 with or without its mark, or UTF-16 with it; it is closed at the end.

    Raises:
        BadRow: a row is no row of a table, or the file is no such text.
    """
    marked = file.read(2) in (b"\xff\xfe", b"\xfe\xff")
    file.seek(0)
    line = 1
    try:
        with TextIOWrapper(file, "utf-16" if marked else "utf-8-sig", newline="") as text:
            first = text.readline()
            rows = csv.reader(chain([first], text), delimiter=max(_DELIMITERS, key=first.count), strict=True)
            names = [name.strip().lower() for name in next(rows, [])]
            if names and "question" not in names:
                raise ValueError(f"no column is named question; there are: {', '.join(names)}")
            line = rows.line_num + 1
            for row in rows:
                if len(row) > len(names):
                    raise ValueError(f"{len(row)} cells, where the first line names {len(names)} columns")
                cells = {name: cell.strip() for name, cell in zip(names, row, strict=False) if cell.strip()}
                if cells:
                    yield line, {name: _value(name, cell) for name, cell in cells.items()}
                line = rows.line_num + 1
    except UnicodeError as error:
        raise BadRow(line, "not UTF-8: save it as CSV UTF-8") from error
    except (csv.Error, ValueError) as error:
        raise BadRow(line, str(error)) from error


def _value(name: str, cell: str) -> Any:
    if name not in _LISTS:
        return cell
    if cell.startswith("["):
        try:
            return json.loads(cell)
        except ValueError as error:
            raise ValueError(f"{name} is no JSON list: {error}") from error
    return [text.strip() for text in cell.split("|") if text.strip()]
