"""Lists of text, as LMs write them: bulleted and numbered lines, rows of a table, XML items, JSON, or lines."""

import re
from collections.abc import Iterable
from typing import Any

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import json_in, says_nothing, tidy, without_closing
from signatures.replies.refusals import is_refusal

__all__ = ["Keywords", "Texts", "bare", "items_of"]

_WHAT = (
    r"(?:(?:sub|search|related|explicit|new|follow-?up|relevant|key)[ -]?){0,2}"
    r"(?:quer(?:y|ies)|questions?|keywords?|key\s?phrases|steps?|items?|terms)"
)
_BULLET = re.compile(
    r"\A\s*(?:[-*•–—‣▪◦+·○●■►▶➤→✓✔✅]\s+|\(?\d{1,2}[.):-]\s+|\d{1,2}[.)](?=[A-Z\"'“])|\d{1,2}、\s*|\d{1,2}\ufe0f?\u20e3\s*|\(?[a-hA-H]\)\s+"
    rf"|\[\d{{1,2}}\]\s*|(?:{_WHAT}|q)\s*#?\d{{1,2}}\s*[:.)-]\s*|(?:first|second|third|fourth|fifth)\s{_WHAT}\s?:\s*)+",
    re.IGNORECASE,
)
# What else begins an item, and becomes "- ": a heading "Query 1"; "i." and "a." where a second one follows; XML.
_HEADING = re.compile(rf"^[#*_ \t]{{0,9}}{_WHAT}[ ]#?\d{{1,2}}[:.)*_ \t]{{0,9}}\n", re.IGNORECASE | re.MULTILINE)
_ROMAN = re.compile(r"^[ \t]{0,9}\(?(?:[ivx]{1,5}|[IVX]{1,5})[.)]\s", re.MULTILINE)
_LETTER = re.compile(r"^[ \t]{0,9}[a-h]\.\s", re.MULTILINE)
_SECOND = re.compile(r"^\W{0,9}(?:ii|II|b)[.)]\s", re.MULTILINE)
_XML_ITEM = re.compile(r"\s*<(?:item|query|question|keyword)>")
_TABLE_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?")
_PARTING = " \t,;"
_QUOTE_MARKS = {'"': '"', "“": "”", "«": "»", "'": "'", "‘": "’"}

_INTRODUCTION = re.compile(
    r"(?:(?:sure|certainly|of course|okay|here (?:are|is|you go))\b[^:\n]{0,100}|search for"
    rf"|(?:(?:the|my|some)\s)?{_WHAT}(?:\s(?:are|is))?)\s?:\s{{0,3}}(?=\S)",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    rf"\W*(?:[^.,;:]{{1,100}}, )?(?:there (?:is|are) )?no (?:(?:further|more|additional|other|new) )?{_WHAT}"
    r"(?: (?:(?:is|are) )?(?:needed|required|necessary))?\W*"
    r"|[^.?\n]{0,80}(?:\bno|\bnot|n't)\b[^.?\n]{0,40}\b(?:further|more|additional)\b[^.?\n]{0,40}(?:needed|required|necessary)\W*"
    rf"|[^.?\n]{{0,80}}(?:cannot|can't|couldn't) (?:think of|come up with)\b[^.?\n]{{0,40}}{_WHAT}\W*",
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


def items_of(text: str) -> list[str]:
    """The items with their bullets, each with the lines that continue it; the lines where no line has a bullet.

    What introduces bullets is left out, and so are bullets below bullets, unless the upper ones are headings that end
    in a colon. The cells of a row are parted by |, without the row's number.
    """
    if rows := _rows(text):
        return rows
    if _XML_ITEM.search(text):
        text = re.sub(r"</?\w+>", "", _XML_ITEM.sub("\n- ", text))
    text = _HEADING.sub("- ", text)
    if second := _SECOND.search(text):
        text = (_LETTER if "b" in second[0] else _ROMAN).sub("- ", text)
    lines = _outer([line for line in text.splitlines() if line.strip()])
    starts = [n for n, line in enumerate(lines) if _BULLET.match(line)]
    if not starts or (len(starts) == 1 and starts[0] > 0 and not lines[0].rstrip().endswith(":")):
        return lines[1:] if len(lines) > 1 and lines[0].rstrip().endswith(":") else lines
    ends = [*starts[1:], len(lines)]
    return [" ".join(line.strip() for line in lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def _rows(text: str) -> list[str]:
    """The rows of a table in Markdown without its head."""
    lines = [line.strip() for line in text.splitlines()]
    rule = next((n for n, line in enumerate(lines) if "|" in line and _TABLE_RULE.fullmatch(line)), len(lines))
    rows = [line.strip("|").split("|") for line in lines[rule + 1 :] if line.startswith("|") or line.count("|") > 1]
    numbered = [(cells, len(cells) > 1 and cells[0].strip().isdigit()) for cells in rows]
    return [" | ".join(cell.strip() for cell in cells[number:]) for cells, number in numbered]


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


def bare(item: str) -> str:
    """The item without its bullet, number, quotes, bold type and code fence."""
    text = _BULLET.sub("", tidy(item), count=1).strip(_PARTING)
    for opening, closing in _QUOTE_MARKS.items():
        inner = text.removeprefix(opening).removesuffix(closing)
        whole = len(text) - len(inner) == 2 or closing not in "'’"  # else it is an apostrophe
        if inner != text and whole and opening not in inner and closing not in inner:
            text = inner.strip(_PARTING)
    return text
