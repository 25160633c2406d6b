"""Lists of text, as LMs write them."""

import re
from collections.abc import Iterable
from typing import Any

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import json_in, says_nothing, tidy, without_closing
from signatures.replies.items import WHAT, bare, items_of
from signatures.replies.refusals import is_refusal

__all__ = ["Keywords", "Texts"]

_INTRODUCTION = re.compile(
    r"(?:(?:sure|certainly|of course|okay|here (?:are|is|you go))\b[^:\n]{0,100}|search for"
    rf"|(?:(?:the|my|some)\s)?{WHAT}(?:\s(?:are|is))?)\s?:\s{{0,3}}(?=\S)",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    rf"\W*(?:[^.,;:]{{1,100}}, )?(?:there (?:is|are) )?no (?:(?:further|more|additional|other|new) )?{WHAT}"
    r"(?: (?:(?:is|are) )?(?:needed|required|necessary))?\W*"
    r"|[^.?\n]{0,80}(?:\bno|\bnot|n't)\b[^.?\n]{0,40}\b(?:further|more|additional)\b[^.?\n]{0,40}(?:needed|required|necessary)\W*"
    rf"|[^.?\n]{{0,80}}(?:cannot|can't|couldn't) (?:think of|come up with)\b[^.?\n]{{0,40}}{WHAT}\W*",
    re.IGNORECASE,
)
_ASSIGNMENT = re.compile(r"\A\s*\w{1,30}\s?=\s?(?=\[)")
_QUOTED = re.compile(r"[\"“][^\"“”\n]*[\"”](?:\s?,\s?[\"“][^\"“”\n]*[\"”])+,?")
_STRAIGHT = {ord("“"): '"', ord("”"): '"'}
_JSON = re.compile(r"[\[{]\s*[\"'\[{]|[\[{][^\]}]*\Z|\{\W*\w+\W*:")
_JSON_LINE = re.compile(r"^\s*\[\s*[\"']", re.MULTILINE)
_QUERY = re.compile(r"quer|question", re.IGNORECASE)
# Commas that part nothing: in "Washington, D.C.", "May 12, 1950", "1,000".
_INNER_COMMA = re.compile(
    r",(?=\s(?:D\.?C|Jr|Sr|Inc|Ltd|LLC|Ph\.?D|M\.D)\b)|(?<=\d),(?=\d{3}\b)|(?<=[a-z.]\s\d),(?=\s\d{4}\b)"
    r"|(?<=[a-z.]\s\d\d),(?=\s\d{4}\b)"
)
_KEYWORD_WORDS = 2  # of keywords such as "unknown", which refuse nothing


class Texts(Reply, shows=list[str]):
    """The items of a list, from JSON, lines, bullets, numbered lines, a table, or one line with semicolons.

    A single text is a list of one. "None" and a refusal in place of a list are []. What introduces bullets or closes
    the reply is left out, and so are bullets below bullets, unless the upper ones are headings that end in a colon.
    """

    @classmethod
    def parse(cls, value: Any) -> list[str]:
        if value is None:
            return []
        if isinstance(value, str):
            return cls._in_text(without_closing(tidy(value)))
        if isinstance(value, bool) or not isinstance(value, int | float | Iterable):
            raise ValueError(f"no list of text: {value!r}"[:200])
        if isinstance(value, int | float):
            return [str(value)]
        if isinstance(value, list) and len(value) == 1:  # XMLAdapter's way to give an element that is no list
            return cls.parse(value[0])
        inner = _in_object(value) if isinstance(value, dict) else list(value)
        return [item for one in inner for item in ([bare(one)] if isinstance(one, str) else cls.parse(one)) if item]

    @classmethod
    def _in_text(cls, text: str) -> list[str]:
        if says_nothing(text) or _NO_MORE.fullmatch(text):
            return []
        text = _ASSIGNMENT.sub("", text, count=1)
        introduced = _INTRODUCTION.match(text)
        listed = text[introduced.end() :] if introduced else text
        if _QUOTED.fullmatch(listed):
            text = f"[{listed.translate(_STRAIGHT)}]"
        elif listed.startswith("["):
            text = listed
        if _JSON.match(text) or text[:1] + text.rstrip(" .,;\n")[-1:] in ("[]", "{}") or _JSON_LINE.search(text):
            number = [list, int]  # "[1] a" is no JSON
            if found := [one for one in json_in(text) if one and [type(one), *map(type, one)] != number]:
                return cls.parse(found)
        if not re.search(r"\w", text):
            raise ValueError("no text")
        items = items_of(text)
        if len(items) == 1 and "\n" not in text:
            line = bare(text)
            items = cls._in_line(_INTRODUCTION.sub("", line, count=1) if _INTRODUCTION.match(line) else text)
        items = [item for one in items if (item := bare(one)) and not says_nothing(item)]
        return [item for item in items if len(item.split()) <= _KEYWORD_WORDS or not is_refusal(item)]

    @classmethod
    def _in_line(cls, line: str) -> list[str]:
        parts = re.split(r"\s+(?=\(?\d[.)]\s)", line) if re.match(r"\s*\(?1[.)]\s", line) else [line]
        return parts if len(parts) > 1 else cls._split(line)

    @classmethod
    def _split(cls, line: str) -> list[str]:
        return line.split(";")


class Keywords(Texts, shows=list[str]):
    """The same for words and short phrases: a line without semicolons is split at its commas."""

    @classmethod
    def _split(cls, line: str) -> list[str]:
        if re.search(r"[;|]", line):
            return re.split(r"[;|]", line)
        parts = _INNER_COMMA.sub("\0", line).split(",")
        return [re.sub(r"\A\s*and\s", "", part).replace("\0", ",") for part in parts]


def _in_object(value: dict[Any, Any]) -> list[Any]:
    """The items in an object: a query with its keywords, queries by name, or what is in a list in it."""
    queries = [inner for key, inner in value.items() if _QUERY.search(str(key))]
    keywords = [inner for key, inner in value.items() if "keyword" in str(key).lower()]
    if len(queries) == 1 and isinstance(queries[0], str):
        behind = [", ".join(map(str, inner)) if isinstance(inner, list) else str(inner) for inner in keywords]
        return [" | ".join([queries[0], *behind])]
    return [one for one in value.values() if isinstance(one, list)] or queries or list(value.values())
