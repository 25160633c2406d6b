"""Finds the spans of a sentence that have the form a question asks for: a date, a number, a name, a noun."""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from lms.extractive.question import Asked
from lms.extractive.words import CALENDAR, DATE, NAME, NUMBER, STOP, Word, alike, stems, words

__all__ = ["Span", "find_spans"]

_UNITS = {
    "length": r"(?:kilo|centi|milli)?met(?:re|er)s?|km|cm|mm|m|miles?|feet|foot|ft|yards?|inch(?:es)?|light-years?",
    "area": r"square (?:kilo)?met(?:re|er)s?|square (?:miles?|km|feet)|km²|km2|sq mi|hectares?|acres?",
    "weight": r"kilogram(?:me)?s?|kg|g|grams?|tons?|tonnes?|pounds?|lbs?",
    "time": r"years?(?: old)?|months?|days?|hours?|minutes?",
    "speed": r"km/h|mph|knots?|(?:kilomet(?:re|er)s|miles) (?:per|an) hour",
    "temperature": r"degrees?(?: (?:Celsius|Fahrenheit))?|°[CF]|K",
}
_AMOUNT = r"\d[\d,.]*(?: (?:thousand|million|billion))?"
_MONEY = re.compile(rf"[£$€¥]\s?{_AMOUNT}|\b{_AMOUNT} (?:dollars|pounds|euros|francs|marks|crowns|yen|lire|rupees)\b")
_SORT = re.compile(  # "is a former American film director and": film director
    r"\b(?:is|was|were|are) (?:an? |the )?(?:(?:[A-Z][\w-]+|former|retired|professional|and) )*"
    r"\b([a-z][a-z-]+(?: [a-z-]+)?)(?= (?:and|from|who|which|that|in|of|for|by|at|with|based|known|born)\b|[,.;(]|$)"
)
_PRONOUN = re.compile(r"\b(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir)\b")
_RANK = re.compile(
    r"^(?:(?:General|Captain|Colonel|Admiral|Major|Lieutenant|Marshal|Professor|Doctor|Dr|Mr|Mrs|Sir|Dame|Lord) )+"
)
_INTRODUCE = frozenset("of the a an by with as from in for".split())  # noqa: SIM905
_NO_NAME = STOP | {"although", "since", "once", "besides", "bc", "ad"}


class Span(NamedTuple):
    """Words of a sentence: where they begin and end, and the text that they stand for."""

    start: int
    end: int
    text: str


def find_spans(asked: Asked, text: str, subject: str) -> Iterator[Span]:
    """The spans of a sentence that have the form the question asks for.

    Args:
        asked: The question.
        text: The sentence.
        subject: What its passage is about, for which pronouns stand; may be empty.
    """
    if asked.kind == "date":
        yield from (Span(match.start(), match.end(), match[0]) for match in DATE.finditer(text))
    elif asked.kind in ("number", "measure"):
        yield from _numbers(asked, text)
    elif asked.kind in ("occupation", "genre"):
        yield from (Span(match.start(1), match.end(1), match[1]) for match in _SORT.finditer(text))
    else:
        yield from _names(text, subject)
        if subject:
            yield from (Span(match.start(), match.end(), subject) for match in _PRONOUN.finditer(text))
        if asked.kind == "thing":
            yield from _nouns(asked, text)


def _numbers(asked: Asked, text: str) -> Iterator[Span]:
    """Amounts of money; numbers with a unit of what is measured; numbers in front of the noun that is counted."""
    if asked.measure == "money":
        yield from (Span(match.start(), match.end(), match[0]) for match in _MONEY.finditer(text))
        return
    for match in NUMBER.finditer(text):
        rest = text[match.end() :]
        if asked.measure:
            unit = re.match(rf"[ -](?:{_UNITS[asked.measure]})\b", rest)
            if unit:
                yield Span(match.start(), match.end() + unit.end(), match[0] + unit[0])
        elif not asked.sort or any(alike(asked.sort, word.stem) for word in _counted(rest)):
            yield Span(match.start(), match.end(), match[0])


def _counted(rest: str) -> list[Word]:
    """The words that a number may count, behind it: nine Olympic gold medals."""
    return list(takewhile(lambda word: word.text.lower() not in STOP, words(rest[:80])))[:4]


def _names(text: str, subject: str) -> Iterator[Span]:
    """Names, without a rank in front, a genitive's end, or the word with a capital that begins a sentence."""
    for match in NAME.finditer(text):
        at = match.start()
        for piece in re.split(r"(['’]s? )", match[0]):
            name = re.sub(r"(?:['’]s|['’]| of \d+)$", "", piece.strip())
            start = at + piece.find(name)
            while name and name != subject and name.partition(" ")[0].lower() in _NO_NAME:
                start, name = start + len(name.partition(" ")[0]) + 1, name.partition(" ")[2]
            if stems(name) and not CALENDAR.match(name):
                yield Span(start, start + len(name), _RANK.sub("", name))
            at += len(piece)


def _nouns(asked: Asked, text: str) -> Iterator[Span]:
    """One or two words without a capital, behind an article, a preposition or a word of the question."""
    for word in words(text):
        if word.text in _INTRODUCE or any(alike(said.stem, word.stem) == 1 for said in asked.said):
            match = re.match(r" ([a-z][\w-]+|\w{1,2}\b)(?: ([a-z][\w-]+))?", text[word.end : word.end + 100])
            kept = []
            for noun in match.groups() if match else ():
                if noun is None or noun in STOP or noun.endswith(("ed", "ing")):
                    break
                kept.append(noun)
            if kept:
                phrase = " ".join(kept)
                yield Span(word.end + 1, word.end + 1 + len(phrase), phrase)
