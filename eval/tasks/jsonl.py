"""Reads questions from files of JSON lines, and from tables."""

import codecs
import gzip
import json
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import dspy

from eval.tasks.tables import BadRow, rows_of
from odqa.files import LongLine, lines_of, open_regular
from retrieval import UsageError

__all__ = ["example", "read"]


def read(path: str | Path) -> Iterator[dspy.Example]:
    """Stream the questions of a file of JSON lines, plain or gzipped, or of a table (`.csv`, `.tsv`).

    Every line is an object with `question` (a string) and `answers` (at least one string, all of them right) or
    `answer` (the only one). It has `id` (a string), or else gets the number of its line. If known, it also has `type`
    (a string), `gold_titles` and `gold_passages` (lists of strings: the titles and the ids of the passages that the
    answer follows from). Other keys, such as `decomposition`, are kept as they are. Blank lines are ignored. A table
    has these as columns: see `eval.tasks.tables.rows_of`.

    Args:
        path: The file, UTF-8, with or without its mark.

    Returns:
        One example per line with these fields, and `answer`, the first of the answers. Its input is `question`.

    Raises:
        UsageError: the file cannot be read, or a line is malformed; the message names the file and the line.
    """
    number = 0
    seen: dict[str, int] = {}
    try:
        with open_regular(path) as file:
            zipped = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            table = Path(path).suffix.lower() in (".csv", ".tsv")
            found = rows_of(file) if table else _lines(gzip.GzipFile(fileobj=file) if zipped else file)
            for number, line in found:
                fields = _parsed(line) if isinstance(line, bytes) else line
                if isinstance(fields, dict):
                    fields = {"id": str(number), **fields}
                    if "answers" not in fields and "answer" in fields:
                        fields["answers"] = [fields["answer"]]
                question = example(fields)
                if (first := seen.setdefault(question.id, number)) != number:
                    raise ValueError(f"the id {question.id!r} is already that of line {first}")
                yield question
    except (LongLine, BadRow) as error:
        raise UsageError(f"{path}, line {error.number}: {error}") from error
    except ValueError as error:
        raise UsageError(f"{path}, line {number}: {error}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path} is a damaged gzip file, from line {number + 1} on: {error}") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def example(fields: Any) -> dspy.Example:
    """The example for an object with the fields that `read` names.

    Raises:
        ValueError: a field is missing or has the wrong type.
    """
    if not isinstance(fields, dict):
        raise ValueError("not a JSON object with id, question and answers")
    if missing := [key for key in ("id", "question", "answers") if key not in fields]:
        raise ValueError(f"no {' and no '.join(missing)}")
    for key in "id", "question":
        if not isinstance(fields[key], str) or not fields[key].strip():
            raise ValueError(f"the {key} must be a string that is not blank, not {fields[key]!r}")
    if not _strings(fields["answers"]) or not fields["answers"]:
        raise ValueError(f"answers must be a list of at least one string, not {fields['answers']!r}")
    if not isinstance(fields.get("type", ""), str):
        raise ValueError(f"the type must be a string, not {fields['type']!r}")
    for key in "gold_titles", "gold_passages":
        if not _strings(fields.get(key, [])):
            raise ValueError(f"{key} must be a list of strings, not {fields[key]!r}")
    return dspy.Example({**fields, "answer": fields["answers"][0]}).with_inputs("question")


def _lines(file: BufferedIOBase) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers."""
    for number, line in enumerate(lines_of(file), 1):
        if line := line.removeprefix(codecs.BOM_UTF8).strip():
            yield number, line


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8, from byte {error.start + 1} on") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error


def _strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
