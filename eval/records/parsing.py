"""The JSON files of a run, read as what they should be: what is wrong with one is said with its file and line."""

import json
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from odqa.files import LongLine, lines_of, open_regular, read_whole
from odqa.http import one_line
from retrieval import UsageError

__all__ = ["ELSEWHERE", "Damaged", "lines", "page", "reading", "say_left_out"]

ELSEWHERE = "choose another directory for the run"
"""What to do with a directory that cannot be gone on with."""

logger = logging.getLogger(__name__)

_Parsed = TypeVar("_Parsed")

_DEEPEST = 100  # objects and lists in one another: what a page shows of them is made by functions that call themselves


class Damaged(UsageError):
    """A file of a run does not hold what it should."""


def page(path: Path, parse: Callable[[Any], _Parsed]) -> _Parsed:
    """What a file of JSON holds.

    Args:
        path: The file.
        parse: Makes what is wanted of the JSON; a ValueError says that it is no such thing.

    Raises:
        Damaged: it is no JSON, or something else.
        OSError: it cannot be read.
    """
    return _parsed(path, None, read_whole(path), parse, finite=True)


def lines(
    path: Path,
    parse: Callable[[Any], _Parsed],
    *,
    finite: bool = True,
    left_out: list[Damaged] | None = None,
) -> Iterator[tuple[_Parsed, bytes]]:
    """What each line of a file holds, and the line. A last line that is cut off is left out; a file that is missing has
    no lines.

    Args:
        path: The file.
        parse: As for `page`.
        finite: Whether a number that is not finite is damage; LMs' servers send such numbers.
        left_out: Where what is wrong with damaged lines goes, which are left out then.

    Raises:
        Damaged: a line is no JSON, or something else, and there is no `left_out`.
        OSError: the file cannot be read.
    """
    if not path.exists():
        return
    with open_regular(path) as file:
        for number, line in enumerate(_whole(path, file), 1):
            if not line.endswith(b"\n"):
                return
            try:
                parsed = _parsed(path, number, line, parse, finite=finite)
            except Damaged as damaged:
                if left_out is None:
                    raise
                left_out.append(damaged)
            else:
                yield parsed, line


def _whole(path: Path, file: BufferedReader) -> Iterator[bytes]:
    try:
        yield from lines_of(file)
    except LongLine as error:
        raise Damaged(f"{path}, line {error.number} is damaged: {error}") from error


def say_left_out(left_out: Sequence[Damaged], meaning: str) -> None:
    """Warn of damaged lines that were left out, and say what that means."""
    if left_out:
        count = "1 damaged line is" if len(left_out) == 1 else f"{len(left_out)} damaged lines are"
        logger.warning("%s left out: %s; the first: %s", count, meaning, left_out[0])


@contextmanager
def reading(missing: str, advice: str = "") -> Iterator[None]:
    """Say in one line what is wrong with a file.

    Args:
        missing: What to say first where a file cannot be read.
        advice: What to do where it is damaged.

    Raises:
        UsageError: a file cannot be read, or is damaged.
    """
    try:
        yield
    except Damaged as damaged:
        raise Damaged(f"{damaged}; {advice}" if advice else str(damaged)) from damaged
    except FileNotFoundError as error:
        raise UsageError(f"{missing}: there is no {error.filename}") from error
    except OSError as error:
        raise UsageError(f"{missing}: {error.filename}: {error.strerror}") from error


def _parsed(path: Path, line: int | None, content: bytes, parse: Callable[[Any], _Parsed], *, finite: bool) -> _Parsed:
    # Python reads NaN and 1e999, which JSON does not have: nothing else could read a page that is made of them.
    strict: dict[str, Any] = {"parse_float": _finite, "parse_constant": _finite} if finite else {}
    try:
        found = json.loads(content, **strict)
        if _is_deep(found):
            raise RecursionError
        return parse(found)
    except (ValueError, RecursionError) as error:
        line = error.lineno if line is None and isinstance(error, json.JSONDecodeError) else line
        where = str(path) if line is None else f"{path}, line {line}"
        raise Damaged(f"{where} is damaged: {_why(error)}") from error


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text[:20]} is no number that JSON has")
    return number


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [item for item in level if isinstance(item, dict | list)]
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
        if not level:
            return False
    return True


def _why(error: ValueError | RecursionError) -> str:
    match error:
        case json.JSONDecodeError():
            return f"it is no JSON from column {error.colno} on"
        case UnicodeDecodeError():
            return "it is not in UTF-8"
        case RecursionError():
            return "it is nested too deeply"
        case ValidationError():
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))[:80]
            return f"{where}: {first['msg']}" if where else "it is no object of the right kind"
    return one_line(error)
