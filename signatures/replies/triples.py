"""Triples of subject, relation and object, as LMs write them."""

import json
import re
from collections.abc import Iterable
from typing import Any

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import json_in, says_nothing, table_rows, tidy, without_closing
from signatures.replies.refusals import is_refusal
from signatures.replies.texts import bare, without_outline

__all__ = ["Triples"]

_PARTED = re.compile(r"\s*[|;→]\s*|\s*-+>\s*|\t+")
_TAGGED = re.compile(r"<(\w+)>([^<>]+)</\1>")
_BRACKETED = re.compile(r"\s*[(<\[](.*)[)>\]][.,;]?\s*")


class Triples(Reply, shows=list[list[str]]):
    """The triples that can be read; what has not three parts, or an empty one, is left out.

    Read are JSON lists of three, JSON objects with three values, XML tags, and lines such as "Lund | is in | Sweden"
    and "(Lund, is in, Sweden)". "None" and a refusal are an empty list. Text without any triple is unparsable.
    """

    @classmethod
    def parse(cls, value: Any) -> list[list[str]]:
        if value is None or value == [] or value == {}:
            return []
        if isinstance(value, str):
            text = without_closing(tidy(value))
            if says_nothing(text) or is_refusal(text):
                return []
            found = _in_tags(text) or list(_in_json(json_in(text))) or list(_in_lines(text))
            empty = not found and _is_empty_json(text)
        else:
            found, empty = list(_in_json(value)), _is_empty(value)
        if not found and not empty:
            raise ValueError("no triple that can be read")
        return found


def _in_tags(text: str) -> list[list[str]]:
    """The contents of XML tags that hold no others, three by three."""
    parts = [part for _, part in _TAGGED.findall(text)]
    whole = parts if len(parts) % 3 == 0 else []
    return [triple for n in range(0, len(whole), 3) if (triple := _triple(whole[n : n + 3]))]


def _in_json(value: Any) -> Iterable[list[str]]:
    if isinstance(value, dict):
        parts = list(value.values())
        if triple := _triple(parts):
            yield triple
            return
        value = parts
    if isinstance(value, str):
        yield from _in_lines(tidy(value))
    elif isinstance(value, list | tuple):
        if triple := _triple(value):
            yield triple
            return
        for inner in value:
            if isinstance(inner, dict | list | tuple):
                yield from _in_json(inner)
            elif isinstance(inner, str):
                yield from _in_lines(inner)


def _triple(parts: Any) -> list[str] | None:
    """The parts, if they are three texts or numbers, or four, of which the last two are the object: "Lund", "in 1990".

    Lines that are triples themselves are no parts.
    """
    if not all(isinstance(part, str | int | float) and not isinstance(part, bool) for part in parts):
        return None
    subject, relation, *object = [bare(str(part)) for part in parts] if len(parts) in (3, 4) else ["", ""]
    triple = [subject, relation, " ".join(object).strip()]
    return triple if all(triple) and not all(map(_of_line, map(str, parts))) else None


def _in_lines(text: str) -> Iterable[list[str]]:
    if rows := table_rows(text):
        yield from (triple for cells in rows if (triple := _triple(cells[-3:])))
        return
    for line in without_outline(text).splitlines():
        if triple := _of_line(line):
            yield triple


def _of_line(line: str) -> list[str] | None:
    line = bare(line)
    inside = _BRACKETED.fullmatch(line)
    parts = _PARTED.split(inside[1] if inside else line)
    if inside and len(parts) != 3:
        parts = re.split(r"\s*,\s*", inside[1])
    texts = [bare(part) for part in parts]
    return texts if len(texts) == 3 and all(texts) else None


def _is_empty_json(text: str) -> bool:
    """Whether the text is whole JSON without anything in it; what was cut off, or repaired, says nothing for sure."""
    try:
        return _is_empty(json.loads(text))
    except ValueError:
        return False


def _is_empty(value: Any) -> bool:
    """Whether a list or an object is empty all through, as {"triples": []}."""
    if isinstance(value, dict):
        return all(map(_is_empty, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_empty, value))
    return value is None or (isinstance(value, str) and says_nothing(value))
