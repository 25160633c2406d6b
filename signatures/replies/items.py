"""The items of a reply: bulleted and numbered lines, rows of a table, XML items, or its lines."""

import re

from signatures.replies.cleaning import tidy

__all__ = ["WHAT", "bare", "is_bulleted", "items_of"]

WHAT = (
    r"(?:(?:sub|search|related|explicit|new|follow-?up|relevant|key)[ -]?){0,2}"
    r"(?:quer(?:y|ies)|questions?|keywords?|key\s?phrases|steps?|items?|terms)"
)
_BULLET = re.compile(
    r"\A\s*(?:[-*•–—‣▪◦+·○●■►▶➤→✓✔✅]\s+|\(?\d{1,2}[.):-]\s+|\d{1,2}[.)](?=[A-Z\"'“])|\d{1,2}、\s*|\d{1,2}\ufe0f?\u20e3\s*|\(?[a-hA-H]\)\s+"
    rf"|\[\d{{1,2}}\]\s*|(?:{WHAT}|q)\s*#?\d{{1,2}}\s*[:.)-]\s*|(?:first|second|third|fourth|fifth)\s{WHAT}\s?:\s*)+",
    re.IGNORECASE,
)
# What else begins an item, and becomes "- ": a heading "Query 1"; "i." and "a." where a second one follows; XML.
_HEADING = re.compile(rf"^[#*_ \t]{{0,9}}{WHAT}[ ]#?\d{{1,2}}[:.)*_ \t]{{0,9}}\n", re.IGNORECASE | re.MULTILINE)
_ROMAN = re.compile(r"^[ \t]{0,9}\(?(?:[ivx]{1,5}|[IVX]{1,5})[.)]\s", re.MULTILINE)
_LETTER = re.compile(r"^[ \t]{0,9}[a-h]\.\s", re.MULTILINE)
_SECOND = re.compile(r"^\W{0,9}(?:ii|II|b)[.)]\s", re.MULTILINE)
_XML_ITEM = re.compile(r"\s*<(?:item|query|question|keyword)>")
_TABLE_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?")
_PARTING = " \t,;"
_QUOTES = {'"': '"', "“": "”", "«": "»", "'": "'", "‘": "’"}


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


def is_bulleted(item: str) -> bool:
    """Whether the item begins with a bullet or a number."""
    return bool(_BULLET.match(item))


def bare(item: str) -> str:
    """The item without its bullet, number, quotes, bold type and code fence."""
    text = _BULLET.sub("", tidy(item), count=1).strip(_PARTING)
    for opening, closing in _QUOTES.items():
        inner = text.removeprefix(opening).removesuffix(closing)
        whole = len(text) - len(inner) == 2 or closing not in "'’"  # else it is an apostrophe
        if inner != text and whole and opening not in inner and closing not in inner:
            text = inner.strip(_PARTING)
    return text
