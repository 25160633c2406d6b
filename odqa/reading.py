"""Files read as what they should be: what is wrong with one is said in one line, with the file and the line."""

import json
import math
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from odqa.errors import UsageError
from odqa.files import LongLine, lines_of, open_regular, read_whole
from odqa.http import one_line

__all__ = ["Damaged", "lines_as", "read_as", "read_toml", "reading"]

T = TypeVar("T")

_DEEPEST = 100  # objects and lists in one another: what a page shows of them is made by functions that call themselves


class Damaged(UsageError):
    """A file does not hold what it should."""


def read_as(path: Path, parse: Callable[[Any], T]) -> T:
    """What a file of JSON holds.

    Args:
        path: The file.
        parse: Makes what is wanted of the JSON; a ValueError says that it is no such thing.

    Raises:
        Damaged: it is no JSON, or something else.
        OSError: it cannot be read.
    """
    return _parsed(path, None, read_whole(path), parse, finite=True)


def lines_as(
    path: Path, parse: Callable[[Any], T], *, finite: bool = True, left_out: list[Damaged] | None = None
) -> Iterator[tuple[T, bytes]]:
    """What each line of a file of JSON holds, and the line. A last line that is cut off is left out; a file that is
    missing has no lines.

    Args:
        path: The file.
        parse: As for `read_as`.
        finite: Whether a number that is not finite is damage; LMs' servers send such numbers.
        left_out: Where what is wrong with damaged lines goes, which are left out then.

    Raises:
        Damaged: a line is no JSON, or something else, and there is no `left_out`.
        OSError: the file cannot be read.
    """
    if not path.exists():
        return
    with open_regular(path) as file:
        try:
            for number, line in enumerate(lines_of(file), 1):
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
        except LongLine as error:
            raise Damaged(f"{path}, line {error.number} is damaged: {error}") from error


def read_toml(path: str | Path) -> dict[str, Any]:
    """What a file of TOML holds.

    Raises:
        UsageError: it cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(read_whole(path).decode())
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is no TOML: {error}") from error
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply") from None


@contextmanager
def reading(missing: str, advice: str = "") -> Iterator[None]:
    """Say in one line what is wrong with a file that is read in the block.

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


def _parsed(path: Path, line: int | None, content: bytes, parse: Callable[[Any], T], *, finite: bool) -> T:
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
