"""Numbers of passages, as LMs write them."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from signatures.replies.as_written import Reply
from signatures.replies.cleaning import boxed, json_in, says_nothing, tidy, without_closing, without_explanation

__all__ = ["EVERY", "Numbers"]

EVERY = range(1, 101)
"""What "all of them" means. A reply does not say how many there are; numbers beyond are dropped where they are used."""

_N = r"(?<![\d.])\d{1,3}(?!\d|\.\d|%)"
_NAME = (
    r"(?:passages?|documents?|docs?|facts?|texts?|items?|statements?|sources?|snippets?|paragraphs?|sentences?"
    r"|entr(?:y|ies)|numbers?|nos?\b\.?|refs?|references?|#)"
)
_MARKED = rf"(?:{_NAME}\s{{0,2}}){{0,2}}[\[(#]{{0,2}}\s?(?:{_NAME}\s?)?{_N}\s?[\])]{{0,2}}"
_LIST = rf"(?>{_MARKED}(?:[\s,;&+/]{{0,4}}(?:\b(?:and|or|plus|as well as)\b\s{{0,2}})?{_MARKED})*)"
_LEADING = re.compile(
    rf"\W{{0,9}}({_LIST})(?=\W{{0,9}}$|\s*[.:,–—→=-]|\s*\b(?:because|since|as|for|which|is|are|was|were|says?|state"
    r"|mention|give|contain|provide|support|describe|directly|both|all)\w*\b)"
)
_NAMED = re.compile(rf"{_NAME}[\s:]{{0,3}}{_LIST}|[\[]\s?{_LIST}")
_RANGE = re.compile(rf"({_N})[\])]?[ \t]*(?:-|–|—|\bto\b|\bthrough\b|\.\.+)[ \t]*[\[(]?(\d{{1,3}})(?!\d|\.\d|%)")
_LONGEST_RANGE = 100
_LONGEST = 4_000  # characters

_PLAIN = re.compile(r"\[\s*-?\d{1,3}(?:\s*,\s*-?\d{1,3})*\s*\]", re.ASCII)  # as it was asked for
# Other digits, dashes, brackets and ticks. Dashes that part words are left as they are.
_SIGNS: dict[int, str] = {
    **dict.fromkeys(map(ord, "‐‑‒−－"), "-"), **{ord("①") + n: f" {n + 1} " for n in range(20)},
    **dict.fromkeys(map(ord, "✅✔✓☑"), " relevant "), **dict.fromkeys(map(ord, "❌✗✘☐☒"), " irrelevant "),
    ord("、"): ",", ord("，"): ",", ord("【"): "[", ord("】"): "]", ord("∅"): "none",
}  # fmt: skip
_TICKED = re.compile(r"^[ \t]*[-*][ \t]*\[([ x])\][ \t]*(\W{0,9}[^\W\d_]{0,12}[ \t]*[\[#]?\d+\]?)", re.MULTILINE)
_COUNTED = r"(?:passages|documents|docs|facts|texts|items|statements|sources|snippets|paragraphs|sentences|ones)"
_NUMBER_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_HOW_MANY = rf"(?:\d{{1,2}}|{'|'.join(_NUMBER_WORDS)})"
# "3 of the 5 passages", "the 2 relevant passages": how many they are, and not which.
_COUNT = re.compile(
    rf"(?P<name>{_NAME}\s{{0,2}}[\[#]?)?\b(?P<n>\d{{1,2}})\]?\s(?:out\s)?of\s(?:the\s|these\s|those\s)?(?:\d{{1,2}}\b(?:\s{_COUNTED}\b)?|{_COUNTED}\b)"
    rf"|\bout\sof\s(?:the\s|these\s)?{_HOW_MANY}\s{_COUNTED}\b"
    rf"|(?<![,;&\d-]\s)(?<!\band\s)(?<!\bor\s)\b\d{{1,2}}\s(?:most\s)?(?:(?:relevant|useful|pertinent|helpful)\s)?{_COUNTED}\b"
)
_ALL = re.compile(rf"\ball\s(?:of\s)?(?:the\s|these\s)?({_HOW_MANY})\s(?:of\s)?(?:the\s|these\s)?{_COUNTED}\b")
_EVERY = re.compile(
    rf"\W*(?:yes,?\s)?(?:all|every|each)(?:\s(?:of\s)?(?:them|the|these|one))*(?:\s{_COUNTED}|\s{_NAME})?"
    r"(?:\s(?:is|are)\s(?:relevant|useful|needed))?\W*"
)
_IN_WORDS = re.compile(rf"\b({_NAME})\s({'|'.join(_NUMBER_WORDS)})\b")
_BOTH = re.compile(r"\bboth(?:\s(?:of\s)?(?:them|the|these))*\spassages\b")
_ZERO = re.compile(rf"\W*(?:0|zero)\b(?:\s(?:of\s(?:the\s)?)?(?:\d{{1,2}}\s)?(?:relevant\s)?{_NAME}.*|\W*)", re.DOTALL)
_THOUSANDS = re.compile(r"(?<![\d,])\d{1,3}(?:,\d{3})+(?![\d,])")
_ABBREVIATED = re.compile(r"\bnos?\.\s*(?=[#\d])")
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_ORDINAL = re.compile(rf"\b({'|'.join(_ORDINALS)})\b|\b(\d{{1,3}})(?:st|nd|rd|th)\b")

_NONE = re.compile(
    r"\W*(?:(?:answer|relevant|useful)\W+)?(?:none|nothing|neither|nil|null|n/?a|not (?:any|a single|one)\b"
    r"|the list is empty|there (?:is|are)(?:n't| not) any"
    r"|(?:there (?:is|are|were|was|seems? to be|appears? to be) )?(?:no(?![.\w]*\s*[#\d]|,)|none)"
    r"|the (?:passages|facts|documents) (?:are not|do not|don't|aren't))\b"
)
_NOT_ALL = re.compile(r"(?:\bexcept(?: for)?|\bother than|\bbut|\bonly|\bapart from|\bhowever)\b(.*\d.*)", re.DOTALL)
_NEGATIVE = re.compile(
    r"\bnot\b|n't\b|\birrelevant|\bunrelated|\bneither\b|\bnor\b|\bexcept|\bexclud|\bunlike\b|\buseless|\bwithout\b"
    r"|\bno\b(?!\.?\s*[#\d])|\bfalse\b|\bother than\b"
    r"|\b(?:only|merely) (?:mentions?|discuss(?:es)?|describes?|talks?)\b"
)
_JUDGED = (
    rf"{_MARKED}[\s:=-]{{1,3}}(?:is\s)?(?:not\s)?(?:(?:ir)?relevant|useful|yes|no|true|false)\b[\s,;.]{{0,3}}(?:and\s)?"
)
_JUDGED_IN_LINE = re.compile(rf"\W{{0,3}}(?>(?>{_JUDGED}){{2,30}})")
_VERDICTS = {True: "relevant", False: "irrelevant"}
_POSITIVE = re.compile(r"\brelevant|\buseful|\byes\b|\btrue\b|\bhelpful|\bkeep\b|\bpertinent|\bdirectly\b|\bhelps\b")
_ENUMERATED = re.compile(rf"^\W{{0,9}}\d{{1,2}}[.)]\s{{1,3}}(?=\W{{0,9}}(?:{_NAME}\W*\d|\[\s*\d))")
_NUMBERED_LINE = re.compile(rf"^\W{{0,9}}(?:{_NAME}\s{{0,2}}){{0,2}}[\[(#]{{0,2}}({_N})\W*(.*)$")
# "passage 3 mentions Paris but does not answer the question": what stands behind "but" is said of passage 3.
_MENTIONS_BUT = re.compile(
    r"\b((?:mention|discuss|describe|talk|refer|cover|concern|(?:is|are) about)[^.;\n]{0,120}?),?\s+but"
    r"(?=\s+(?:(?:it|they)\s+)?(?:is|are|was|were|do|does|did|has|have)(?:\s+not|n't)\b)"
)
_WHY = re.compile(r"\b(?:because|since|as)\b")
_CLAUSE = re.compile(r"[;\n]|(?<=[a-z\])])\.\s|[.!?]\s+(?=[a-z])|,?\s*\b(?:but|while|whereas|however|although)\b")
_DOUBTED = re.compile(r"\(([^()]{0,300})\)")  # "[2, 5] (passage 3 only mentions 1985)"
_PARENTHESIS = re.compile(
    r"\((?=[^()a-z]*[a-z]{2})(?!\s*(?:passages?|documents?|facts?|nos?\.?)\s*\d(?![\d,\sand]{0,20}\b(?:is|are|was|were|do|does)\b))[^()]{0,300}\)"
)

# With these words around them, all numbers in a sentence are meant.
_WORDS = frozenset(
    [
        "a",
        "all",
        "also",
        "an",
        "and",
        "answer",
        "answers",
        "answering",
        "are",
        "be",
        "below",
        "best",
        "both",
        "chosen",
        "contain",
        "contains",
        "context",
        "directly",
        "document",
        "documents",
        "fact",
        "facts",
        "final",
        "following",
        "for",
        "from",
        "given",
        "have",
        "helpful",
        "here",
        "i",
        "id",
        "identified",
        "ids",
        "in",
        "index",
        "indices",
        "information",
        "is",
        "it",
        "item",
        "items",
        "keep",
        "just",
        "list",
        "maybe",
        "mentioned",
        "most",
        "my",
        "namely",
        "no",
        "nos",
        "number",
        "numbers",
        "of",
        "on",
        "one",
        "ones",
        "only",
        "or",
        "output",
        "paragraph",
        "paragraphs",
        "passage",
        "passages",
        "perhaps",
        "pertinent",
        "plus",
        "possibly",
        "question",
        "query",
        "relevant",
        "respectively",
        "result",
        "results",
        "select",
        "selected",
        "selection",
        "seem",
        "sentence",
        "sentences",
        "snippet",
        "snippets",
        "so",
        "source",
        "sources",
        "statement",
        "statements",
        "text",
        "texts",
        "that",
        "the",
        "them",
        "there",
        "therefore",
        "these",
        "they",
        "think",
        "this",
        "to",
        "topic",
        "two",
        "three",
        "four",
        "five",
        "useful",
        "was",
        "were",
        "which",
        "would",
    ]
)


class Numbers(Reply, shows=list[int]):
    """The numbers of passages, each once, in order of appearance; [] where the LM says that none is meant.

    "[1] [4]", "1 and 4", "- 1\\n- 4", "Passages 1-3." and a verdict on each passage ("1: relevant\\n2: not relevant")
    are all read; "All of them" is `EVERY`. Text that does not say which numbers are meant is unparsable.
    """

    @classmethod
    def parse(cls, value: Any) -> list[int]:
        return list(dict.fromkeys(_numbers(value)))


def _numbers(value: Any) -> Iterable[int]:
    if value is None or value is False:
        return []
    if isinstance(value, str):
        text = tidy(boxed(without_explanation(without_closing(value[:_LONGEST]))))
        if _PLAIN.fullmatch(text):
            return _in_items(json.loads(text))
        if text.startswith(("{", '["')) or re.match(r"\[[^\[\]]*\"[^\[\]]*\]\Z", text):
            values = json_in(text)
            if values and not isinstance(values[0], str):
                return _in_items(values)
        return _in_text(text.lower())
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and value is not True:
        return [value] if value else []
    if isinstance(value, Mapping):
        return _in_object(value)
    if isinstance(value, Iterable):
        return _in_items(list(value))
    raise ValueError(f"no numbers: {value!r}")


def _in_items(items: list[Any]) -> list[int]:
    """What the items that can be read say; one bad item does not cost the good ones."""
    found: list[int] = []
    failed: ValueError | None = None
    for item in items:
        try:
            found += _numbers(item)
        except ValueError as error:
            failed = error
    if failed and not found:
        raise failed
    return found


def _in_object(value: Mapping[Any, Any]) -> Iterable[int]:
    """Either a verdict per number, or an object around the numbers."""
    if value and all(re.search(r"\d", str(key)) for key in value):
        verdicts = [f"{key}: {_VERDICTS[said] if isinstance(said, bool) else said}" for key, said in value.items()]
        return _in_text("\n".join(verdicts).lower())
    for key, inner in value.items():
        if not _NEGATIVE.search(str(key).lower()) and not re.match("reason|expla|thought|text", str(key).lower()):
            return _numbers(inner)
    raise ValueError("no numbers in the object")


def _in_text(text: str) -> list[int]:
    text = text.translate(_SIGNS)
    if says_nothing(text) or _ZERO.fullmatch(text):
        return []
    text = _TICKED.sub(lambda found: f"{found[2]}: {_VERDICTS[found[1] == 'x']} ", text)
    if _EVERY.fullmatch(text):
        return list(EVERY)
    text = _BOTH.sub("1, 2", text)
    text = _COUNT.sub(lambda found: f"{found['name']}{found['n']} " if found["name"] else "", _ALL.sub(_all_of, text))
    text = _IN_WORDS.sub(lambda found: f"{found[1]} {_NUMBER_WORDS.index(found[2]) + 1}", text)
    text = _THOUSANDS.sub("", _ABBREVIATED.sub("#", text))
    text = _ORDINAL.sub(lambda found: str(_ORDINALS.index(found[1]) + 1) if found[1] else found[2], text)
    if _NONE.match(text) or (not re.search(r"\d", text) and re.search(r"\bnone\b", text)):
        exception = _NOT_ALL.search(text)
        return _in_text(exception[1].strip()) if exception else []
    text = _RANGE.sub(_expanded, _MENTIONS_BUT.sub(r"\1 ", text))
    if _JUDGED_IN_LINE.fullmatch(text):
        text = re.sub(_JUDGED, r"\g<0>\n", text)
    lines = [_ENUMERATED.sub("", line) for line in text.splitlines() if line.strip()]
    if (verdicts := _verdicts(lines)) is not None:
        return verdicts
    found: list[int] = []
    excluded: list[int] = []
    text = _DOUBTED.sub(lambda aside: f"; {aside[1]};" if _NEGATIVE.search(aside[1]) else aside[0], "\n".join(lines))
    for clause in _CLAUSE.split(text):
        clause = _PARENTHESIS.sub(" ", clause)
        if _NEGATIVE.search(clause):
            if re.search(r"\ball\b|\bevery\b|\beach\b", clause):
                raise ValueError("says which passages are not meant, but not which ones are")
            excluded += _plain(clause)
        elif re.search(r"\d", clause):
            found += _meant(clause)
    kept = [number for number in found if number not in excluded]
    if not kept:
        raise ValueError("no numbers of passages")
    return kept


def _verdicts(lines: list[str]) -> list[int] | None:
    """The numbers with a good verdict, where several lines have each a number and a verdict; else None."""
    numbered = [found for line in lines if (found := _NUMBERED_LINE.match(line))]
    judged = [found for found in numbered if _NEGATIVE.search(found[2]) or _POSITIVE.search(found[2])]
    if len(judged) < 2 or len(judged) < len(numbered):
        return None
    return [int(found[1]) for found in judged if not _NEGATIVE.search(found[2])]


def _meant(clause: str) -> list[int]:
    """The numbers of passages in a clause that speaks well of them."""
    if _speaks_of_numbers(clause):
        return _plain(clause)
    parts = [found[0] for found in _NAMED.finditer(clause)]
    if leading := _LEADING.match(clause):
        parts.insert(0, leading[1])
    found = [number for part in parts for number in _plain(part)]
    said = _WHY.split(clause, maxsplit=1)[0]  # "I think 1 and 4, since passage 2 is about ..."
    return found if set(_plain(said)) <= set(found) or not _speaks_of_numbers(said) else _plain(said)


def _speaks_of_numbers(clause: str) -> bool:
    """Whether all numbers in the clause are meant, going by the words around them."""
    return set(re.findall(r"[^\W\d_]+", clause)) <= _WORDS


def _plain(text: str) -> list[int]:
    return [int(number) for number in re.findall(_N, text)]


def _all_of(found: re.Match[str]) -> str:
    """The numbers of all passages, written out."""
    how_many = _NUMBER_WORDS.index(found[1]) + 1 if found[1] in _NUMBER_WORDS else int(found[1])
    return ", ".join(map(str, range(1, how_many + 1)))


def _expanded(found: re.Match[str]) -> str:
    """The numbers of a range, written out."""
    first, last = int(found[1]), int(found[2])
    if not first < last <= first + _LONGEST_RANGE:
        return found[0]
    return ", ".join(map(str, range(first, last + 1)))
