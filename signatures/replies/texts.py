"""Lists of text, as LMs write them."""

import re
from collections.abc import Iterable
from typing import Any

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import json_in, says_nothing, tidy

__all__ = ["Keywords", "Texts", "bare", "bulleted"]

_BULLET = re.compile(
    r"\A\s*(?:[-*•–‣▪◦+]\s+|\(?\d{1,2}[.):]\s+|\(?[a-hA-H]\)\s+|\[\d{1,2}\]\s*|(?:query|question|keyword|step|item|q)\s*#?\d{1,2}\s*[:.)-]\s*)+",
    re.IGNORECASE,
)
_WRAPPING = "\"'“”‘’«» \t,;"
_XML_ITEM = re.compile(r"<item>(.*?)(?:</item>|(?=<item>)|\Z)", re.DOTALL)
_JSON = re.compile(r"[\[{]\s*[\"'\[{]|[\[{][^\]}]*\Z|\{\W*\w+\W*:")
_LONGEST_KEYWORD = 4  # words


class Texts(Reply, shows=list[str]):
    """The items of a list, from JSON, lines, bullets, numbered lines, or one line with semicolons; [] for "None".

    A single text is a list of one. An introduction ending in a colon above bullets is left out.
    """

    separators = r";"

    @classmethod
    def parse(cls, value: Any) -> list[str]:
        return list(cls._items(value))

    @classmethod
    def _items(cls, value: Any) -> Iterable[str]:
        if value is None:
            return []
        if isinstance(value, str):
            return cls._in_text(value)
        if isinstance(value, bool) or not isinstance(value, int | float | Iterable):
            raise ValueError(f"no list of text: {value!r}"[:200])
        if isinstance(value, int | float):
            return [str(value)]
        if isinstance(value, list) and len(value) == 1:  # XMLAdapter's way to give an element that is no list
            return cls._items(value[0])
        inner = list(value.values()) if isinstance(value, dict) else list(value)
        if isinstance(value, dict) and not all(isinstance(one, str) for one in inner):
            inner = [one for one in inner if isinstance(one, list)] or inner  # {"queries": [...], "count": 2}
        return [item for one in inner for item in ([bare(one)] if isinstance(one, str) else cls._items(one)) if item]

    @classmethod
    def _in_text(cls, text: str) -> Iterable[str]:
        text = tidy(text)
        if says_nothing(text):
            return []
        if listed := _XML_ITEM.findall(text):
            return [item for one in listed if (item := bare(one))]
        if _looks_like_json(text) or re.search(r"^\s*\[\s*[\"']", text, re.MULTILINE):
            quoted = [found for found in json_in(text) if found and not _is_number_in_brackets(found)]
            if quoted:
                return cls._items(quoted)
        if not re.search(r"\w", text):
            raise ValueError("no text")
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) == 1:
            items = cls._in_line(lines[0])
        else:
            items = bulleted(lines) or (lines[1:] if lines[0].rstrip().endswith(":") else lines)
        return [item for one in items if (item := bare(one)) and not says_nothing(item)]

    @classmethod
    def _in_line(cls, line: str) -> list[str]:
        parts = re.split(r"\s+(?=\(?\d[.)]\s)", line) if re.match(r"\s*\(?1[.)]\s", line) else [line]
        return parts if len(parts) > 1 else re.split(cls.separators, line)


class Keywords(Texts, shows=list[str]):
    """The same for words and short phrases: a line is split at its commas too."""

    separators = r"[;,|]"


def bulleted(lines: list[str]) -> list[str] | None:
    """The items of bulleted or numbered lines, each with the lines that continue it; None where no two are such lines.

    What stands above the first one is left out.
    """
    starts = [n for n, line in enumerate(lines) if _BULLET.match(line)]
    if not starts or (len(starts) == 1 and (starts[0] > 0 and not lines[0].rstrip().endswith(":"))):
        return None
    ends = [*starts[1:], len(lines)]
    return [" ".join(line.strip() for line in lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def bare(item: str) -> str:
    """The item without its bullet, number, quotes, bold type and code fence."""
    return _BULLET.sub("", tidy(item), count=1).strip(_WRAPPING)


def _looks_like_json(text: str) -> bool:
    """Whether the text is JSON, or nearly so, from its beginning; "[Mission: Impossible] director" is not."""
    return bool(_JSON.match(text)) or text[:1] + text.rstrip(" .,;\n")[-1:] in ("[]", "{}")


def _is_number_in_brackets(found: Any) -> bool:
    return isinstance(found, list) and len(found) == 1 and isinstance(found[0], int)
