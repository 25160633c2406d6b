"""Lists of text, as LMs write them."""

import re
from collections.abc import Iterable
from typing import Any

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import json_in, says_nothing, table_rows, tidy, without_closing
from signatures.replies.refusals import is_refusal

__all__ = ["Keywords", "Texts", "bare", "bulleted", "without_outline"]

_WHAT = r"(?:quer(?:y|ies)|questions?|keywords?|key\s?phrases|steps?|items?|terms)"
_WHICH = r"(?:(?:sub|search|related|explicit|new|follow-?up|relevant|key)[ -]?){0,2}"
_BULLET = re.compile(
    r"\A\s*(?:[-*•–—‣▪◦+·○●■►▶➤→✓✔✅]\s+|\(?\d{1,2}[.):-]\s+|\d{1,2}[.)](?=[A-Z\"'“])|\d{1,2}\ufe0f?\u20e3\s*|\(?[a-hA-H]\)\s+|\[\d{1,2}\]\s*"
    rf"|(?:{_WHICH}{_WHAT}|q)\s*#?\d{{1,2}}\s*[:.)-]\s*"
    rf"|(?:first|second|third|fourth|fifth)\s{_WHICH}{_WHAT}\s?:\s*)+",
    re.IGNORECASE,
)
_HEADING = re.compile(
    rf"^[#*_ \t]{{0,9}}{_WHICH}{_WHAT}[ ]#?\d{{1,2}}[:.)*_ \t]{{0,9}}\n", re.IGNORECASE | re.MULTILINE
)
_ROMAN = re.compile(r"^[ \t]{0,9}\(?(?:[ivx]{1,5}|[IVX]{1,5})[.)]\s", re.MULTILINE)
_LETTER = re.compile(r"^[ \t]{0,9}[a-h]\.\s", re.MULTILINE)
_SECOND = re.compile(r"^\W{0,9}(?:ii|II|b)[.)]\s", re.MULTILINE)
_INTRODUCTION = re.compile(
    rf"(?:(?:sure|certainly|of course|okay|here (?:are|is))\b[^:\n]{{0,100}}"
    rf"|(?:(?:the|my|some)\s)?{_WHICH}{_WHAT}(?:\s(?:are|is))?)\s?:\s{{0,3}}(?=\S)",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    rf"\W*(?:[^.,;:]{{1,100}}, )?(?:there (?:is|are) )?no (?:(?:further|more|additional|other|new) )?{_WHICH}{_WHAT}"
    r"(?: (?:(?:is|are) )?(?:needed|required|necessary))?\W*",
    re.IGNORECASE,
)
_ASSIGNMENT = re.compile(r"\A\s*\w{1,30}\s?=\s?(?=\[)")
_QUOTED = re.compile(r"[\"“][^\"“”\n]*[\"”](?:\s?,\s?[\"“][^\"“”\n]*[\"”])+,?")
_STRAIGHT = {ord("“"): '"', ord("”"): '"'}
_PARTING = " \t,;"
_QUOTES = {'"': '"', "“": "”", "«": "»", "'": "'", "‘": "’"}
_XML_ITEM = re.compile(
    r"<(?:item|query|question|keyword)>(.*?)(?:</(?:item|query|question|keyword)>|(?=<(?:item|query|question|keyword)>)|\Z)",
    re.DOTALL,
)
_JSON = re.compile(r"[\[{]\s*[\"'\[{]|[\[{][^\]}]*\Z|\{\W*\w+\W*:")
_QUERY = re.compile(r"quer|question", re.IGNORECASE)
_KEYWORD = re.compile(r"keyword", re.IGNORECASE)
# Commas that part nothing: in "Washington, D.C.", "May 12, 1950", "1,000".
_INNER_COMMA = re.compile(
    r",\s(?:D\.?C|Jr|Sr|Inc|Ltd|LLC|Ph\.?D|M\.D)\b\.?|\b[A-Z][a-z]{2,8}\.?\s\d{1,2},\s\d{4}\b|\d,\d{3}\b"
)
_PROTECTED = "\0"
_KEYWORD_WORDS = 2


class Texts(Reply, shows=list[str]):
    """The items of a list, from JSON, lines, bullets, numbered lines, a table, or one line with semicolons.

    A single text is a list of one. "None" and a refusal in place of a list are []. What introduces bullets or closes
    the reply is left out, and so are bullets below bullets, unless the upper ones are headings that end in a colon.
    """

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
        inner = _in_object(value) if isinstance(value, dict) else list(value)
        return [item for one in inner for item in ([bare(one)] if isinstance(one, str) else cls._items(one)) if item]

    @classmethod
    def _in_text(cls, text: str) -> Iterable[str]:
        text = without_closing(tidy(text))
        if says_nothing(text) or _NO_MORE.fullmatch(text):
            return []
        if tagged := _XML_ITEM.findall(text):
            return [item for one in tagged if (item := bare(one))]
        if rows := table_rows(text):
            return [item for cells in rows if (item := " | ".join(cells[len(cells) > 1 and cells[0].isdigit() :]))]
        text = _ASSIGNMENT.sub("", text, count=1)
        introduced = _INTRODUCTION.match(text)
        listed = text[introduced.end() :] if introduced else text
        if _QUOTED.fullmatch(listed):
            text = f"[{listed.translate(_STRAIGHT)}]"
        elif listed.startswith("["):
            text = listed
        if _looks_like_json(text) or re.search(r"^\s*\[\s*[\"']", text, re.MULTILINE):
            quoted = [found for found in json_in(text) if found and not _is_number_in_brackets(found)]
            if quoted:
                return cls._items(quoted)
        if not re.search(r"\w", text):
            raise ValueError("no text")
        lines = [line for line in without_outline(text).splitlines() if line.strip()]
        if len(lines) > 1:
            items = bulleted(_outer(lines)) or (lines[1:] if lines[0].rstrip().endswith(":") else lines)
        else:
            items = cls._in_line(
                _INTRODUCTION.sub("", bare(lines[0]), count=1) if _INTRODUCTION.match(bare(lines[0])) else lines[0]
            )
        return [item for one in items if (item := bare(one)) and not says_nothing(item) and not _declines(item)]

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
        line = _INNER_COMMA.sub(lambda found: found[0].replace(",", _PROTECTED), line)
        return [re.sub(r"\A\s*and\s", "", part).replace(_PROTECTED, ",") for part in line.split(",")]


def _declines(item: str) -> bool:
    """Whether the item is a refusal and not a keyword such as "unknown"."""
    return len(item.split()) > _KEYWORD_WORDS and is_refusal(item)


def _in_object(value: dict[Any, Any]) -> list[Any]:
    """The items in an object: a query with its keywords, queries by name, or what is in a list in it."""
    queries = [inner for key, inner in value.items() if _QUERY.search(str(key))]
    keywords = [inner for key, inner in value.items() if _KEYWORD.search(str(key))]
    if len(queries) == 1 and isinstance(queries[0], str):
        behind = [", ".join(map(str, inner)) if isinstance(inner, list) else str(inner) for inner in keywords]
        return [" | ".join([queries[0], *behind])]
    inner = [one for one in value.values() if isinstance(one, list)]
    return inner or queries or list(value.values())


def without_outline(text: str) -> str:
    """The text with "- " for its headings "Query 1", and for "i.", "II." or "a." before its lines, if there are two."""
    text = _HEADING.sub("- ", text)
    if second := _SECOND.search(text):
        text = (_LETTER if "b" in second[0] else _ROMAN).sub("- ", text)
    return text


def _outer(lines: list[str]) -> list[str]:
    """The lines without bullets below bullets; or, where the upper one is a heading, without that."""
    depths = [len(line) - len(line.lstrip()) if _BULLET.match(line) else None for line in lines]
    outermost = min((depth for depth in depths if depth is not None), default=0)
    kept: list[str] = []
    heading = below = False
    for line, depth in zip(lines, depths, strict=True):
        if depth is not None:
            below = depth > outermost + 1
            if not below:
                heading = line.rstrip(" \t*_").endswith(":")
        if heading if below else not (heading and depth is not None):
            kept.append(line)
    return kept


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
    text = _BULLET.sub("", tidy(item), count=1).strip(_PARTING)
    for opening, closing in _QUOTES.items():
        inner = text.removeprefix(opening).removesuffix(closing)
        whole = len(text) - len(inner) == 2 or closing not in "'’"  # else it is an apostrophe
        if inner != text and whole and opening not in inner and closing not in inner:
            text = inner.strip(_PARTING)
    return text


def _looks_like_json(text: str) -> bool:
    """Whether the text is JSON, or nearly so, from its beginning; "[Mission: Impossible] director" is not."""
    return bool(_JSON.match(text)) or text[:1] + text.rstrip(" .,;\n")[-1:] in ("[]", "{}")


def _is_number_in_brackets(found: Any) -> bool:
    return isinstance(found, list) and len(found) == 1 and isinstance(found[0], int)
