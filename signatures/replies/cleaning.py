"""A reply's text without its wrapping, and the JSON in it."""

import json
import re
from typing import Any

import json_repair

__all__ = ["LONGEST", "is_runaway", "json_in", "says_nothing", "tidy", "without_fence"]

LONGEST = 10_000  # characters of a field; what goes beyond is cut off

_DECODER = json.JSONDecoder()
_FENCE = re.compile(r"```[\w-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|`")
_NOTHING = re.compile(
    r"\W*(?:none|null|nil|nothing|empty|n/?a|not applicable|(?:an )?empty (?:list|string)|none (?:is |are )?needed)\W*",
    re.IGNORECASE,
)
_FEW = 20  # characters
_UNCLOSED = 8  # brackets at the end of a reply that was cut off; with more of them it is no JSON, and repair takes long


def tidy(text: str) -> str:
    """The text cut to 10,000 characters, without a code fence, bold type and white space around it."""
    return _EMPHASIS.sub("", without_fence(text[:LONGEST], anywhere=True)).strip()


def without_fence(text: str, anywhere: bool = False) -> str:
    """What stands in the code fence around the text, or in the first one anywhere in it; without one, the text."""
    if "```" not in text:
        return text
    fenced = _FENCE.search(text) if anywhere else _FENCE.match(text.strip())
    return fenced[1] if fenced and (anywhere or not text.strip()[fenced.end() :]) else text


def says_nothing(text: str) -> bool:
    """Whether the text is blank, is a few brackets or dashes, or says in a word that there is nothing."""
    return not text.strip() or (len(text) < _FEW and not re.search(r"\w", text)) or bool(_NOTHING.fullmatch(text))


def json_in(text: str, openings: str = "[{") -> list[Any]:
    """The arrays and objects in the text, in order; what comes last repaired if it was cut off or is not quite JSON.

    Args:
        text: Text that has none gives an empty list.
        openings: What they begin with.
    """
    found: list[Any] = []
    opening = re.compile(f"[{re.escape(openings)}]")
    end = 0
    while start := opening.search(text, end):
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            return found + _repaired(text[start.start() :][:LONGEST])
        found.append(value)
    return found


def is_runaway(text: str) -> bool:
    """Whether brackets open and open in the text: no reply that was cut off leaves so many unclosed."""
    opened, most = 0, 0
    for bracket in re.findall(r"[\[\]{}]", text):
        opened += 1 if bracket in "[{" else -1
        most = max(most, opened)
    return most > _UNCLOSED


def _repaired(text: str) -> list[Any]:
    if is_runaway(text):
        return []
    try:
        value = json_repair.loads(text)
    except (ValueError, RecursionError):
        return []
    return [value] if isinstance(value, list | dict) and value else []
