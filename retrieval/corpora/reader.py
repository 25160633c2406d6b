"""Reading corpora from files of JSON lines."""

import codecs
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from reprlib import repr
from typing import Any

from odqa.errors import UsageError
from odqa.files import LongLine, lines_of, open_regular
from retrieval.indexes import DuplicateId
from retrieval.passage import Passage

__all__ = ["SAMPLE", "naming_lines", "read"]

SAMPLE = Path(str(files("retrieval"))) / "data" / "sample.corpus.jsonl"
"""The packaged sample corpus."""


def read(path: str | Path, progress: Callable[[int], object] = lambda count: None) -> Iterator[Passage]:
    """Stream the passages of a file of JSON lines, plain or gzipped.

    Every line is an object with `id` (a string or an integer), `title` and `text` (strings, the text not blank).
    Other keys and blank lines are ignored.

    Args:
        path: The file, UTF-8, with or without its mark.
        progress: Called now and then with the number of bytes of the file, as it is on disk, read since the last call.

    Raises:
        UsageError: the file cannot be read, or a line is wrong; the message names the file and the line.
    """
    for _, passage in _numbered(path, progress):
        yield passage


@contextmanager
def naming_lines(path: str | Path) -> Iterator[None]:
    """While the passages of the file go into an index, make an error about an id that occurs twice name the lines.

    Whoever reads the file as a stream has not kept where each id stands, so the file is read once more.

    Raises:
        UsageError: two passages have the same id.
    """
    try:
        yield
    except DuplicateId as error:
        lines = [number for number, passage in _numbered(path) if passage.id == error.id]
        if len(lines) == 1:
            raise UsageError(
                f"{path}, line {lines[0]}: the index has a passage with the id {error.id!r} already"
            ) from error
        where = ", ".join(map(str, lines[:-1]))
        raise UsageError(f"{path}, lines {where} and {lines[-1]}: the same id {error.id!r}; ids must differ") from error


def _numbered(
    path: str | Path, progress: Callable[[int], object] = lambda count: None
) -> Iterator[tuple[int, Passage]]:
    """As `read`, with the number of each passage's line."""
    number = done = 0
    try:
        with open_regular(path) as file, gzip.open(file) if file.peek(2)[:2] == b"\x1f\x8b" else file as lines:
            for line in lines_of(lines):
                number += 1
                if (position := file.tell()) > done:
                    progress(position - done)
                    done = position
                if line := line.removeprefix(codecs.BOM_UTF8).strip():
                    yield number, _passage(line)
    except _BadLine as error:
        raise UsageError(f"{path}, line {number}: {error}") from error
    except LongLine as error:
        raise UsageError(f"{path}, line {error.number}: {error}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path} is a damaged gzip file, from line {number + 1} on: {error}") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


class _BadLine(Exception):
    """What is wrong with a line."""


def _passage(line: bytes) -> Passage:
    try:
        fields: Any = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise _BadLine(f"not UTF-8, from byte {error.start + 1} on") from error
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise _BadLine("not a JSON object with id, title and text")
    if missing := [key for key in ("id", "title", "text") if key not in fields]:
        raise _BadLine(f"no {' and no '.join(missing)}")
    if type(fields["id"]) not in (str, int) or fields["id"] == "":
        raise _BadLine(f"the id must be a string or an integer, not {repr(fields['id'])}")
    for key in "title", "text":
        if not isinstance(fields[key], str):
            raise _BadLine(f"the {key} must be a string, not {repr(fields[key])}")
    if not fields["text"].strip():
        raise _BadLine(f"the passage {fields['id']!r} has no text: leave it out")
    return Passage(str(fields["id"]), fields["text"], fields["title"])
