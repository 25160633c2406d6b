"""Triples of subject, relation and object, as LMs write them."""

import re
from collections.abc import Iterator
from typing import Any

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import holds_nothing, json_in, says_nothing, tidy, without_closing
from signatures.replies.refusals import is_refusal
from signatures.replies.texts import bare, items_of

__all__ = ["Triples"]

_PARTED = re.compile(r"\s*[|;→]\s*|\s*-+>\s*|\t+|\s[-–—]\s")
_TAGGED = re.compile(r"<(\w+)>([^<>]+)</\1>")
_BRACKETED = re.compile(r"\s*[(<\[](.*)[)>\]][.,;]?\s*")
_NO_TRIPLES = re.compile(r"\W*(?:there are )?no (?:\w+ )?(?:triples|facts|relations)\b.*", re.IGNORECASE)


class Triples(Reply, shows=list[list[str]]):
    """The triples that can be read; what has not three parts, or an empty one, is left out.

    Read are JSON lists of three, JSON objects with three values, XML tags, and lines such as "Lund | is in | Sweden"
    and "(Lund, is in, Sweden)". "None" and a refusal are an empty list. Text without any triple is unparsable.
    """

    @classmethod
    def parse(cls, value: Any) -> list[list[str]]:
        if isinstance(value, str):
            text = without_closing(tidy(value))
            if says_nothing(text) or is_refusal(text) or _NO_TRIPLES.fullmatch(text):
                return []
            parts = [part for _, part in _TAGGED.findall(text)]
            by_three = [parts[n : n + 3] for n in range(0, len(parts), 3)] if len(parts) % 3 == 0 else []
            found = list(_in_json(by_three)) or list(_in_json(json_in(text))) or list(_in_lines(text))
        else:
            found = list(_in_json(value))
        if not found and not holds_nothing(value):
            raise ValueError("no triple that can be read")
        return found


def _in_json(value: Any) -> Iterator[list[str]]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, str):
        yield from _in_lines(tidy(value))
    elif isinstance(value, list | tuple):
        if triple := _triple(value):
            yield triple
            return
        for inner in value:
            yield from _in_json(inner)


def _triple(parts: Any) -> list[str] | None:
    """The parts, if they are three texts or numbers, or four, of which the last two are the object: "Lund", "in 1990".

    Lines that are triples themselves are no parts.
    """
    if len(parts) not in (3, 4) or not all(
        isinstance(part, str | int | float) and not isinstance(part, bool) for part in parts
    ):
        return None
    subject, relation, *object = [bare(str(part)) for part in parts]
    triple = [subject, relation, " ".join(object).strip()]
    return triple if all(triple) and not all(_of_line(str(part)) for part in parts) else None


def _in_lines(text: str) -> Iterator[list[str]]:
    return (triple for line in items_of(text) if (triple := _of_line(line)))


def _of_line(line: str) -> list[str] | None:
    line = bare(line)
    inside = _BRACKETED.fullmatch(line)
    parts = _PARTED.split(inside[1] if inside else line)
    if inside and len(parts) != 3:
        parts = re.split(r"\s*,\s*", inside[1])
    texts = [bare(part) for part in parts]
    return texts if len(texts) == 3 and all(texts) else None
