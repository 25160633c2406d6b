"""Words and their forms: stems, which words say the same, names, dates, numbers and sentences.

The lists of words stand in `words.toml`.
"""

import re
import tomllib
import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import Stemmer

__all__ = [
    "CALENDAR", "DATE", "KNOWN", "NAME", "NUMBER", "STOP", "YEAR",
    "Word", "alike", "any_of", "sentences", "stems", "words",
]  # fmt: skip

KNOWN: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
"""The lists of words."""


def any_of(words: str) -> str:
    """The pattern of any of some words, which are parted by blanks."""
    return f"(?:{'|'.join(words.split())})"


STOP = frozenset(KNOWN["stop"].split())
_MONTH = any_of("January February March April May June July August September October November December")
YEAR = r"\b(?:1\d|20)\d\d\b"
DATE = re.compile(rf"\b(?:\d{{1,2}} )?{_MONTH} (?:\d{{1,2}}, )?\d{{3,4}}\b|{YEAR}(?:s\b)?")
CALENDAR = re.compile(rf"(?:{_MONTH}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b")
NUMBER = re.compile(
    r"\b\d[\d,]*(?:\.\d+)?\b(?: (?:hundred|thousand|million|billion|percent|per cent)\b|%)?"
    r"|\b(?:(?:a|two|three|several) (?:hundred|thousand|dozen)|two|three|four|five|six|seven|eight|nine|ten|eleven|"
    r"twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty)\b"
)
_CAPITAL = r"[A-ZÀ-ÞĀ-Ž](?:\.(?=[A-Z ])|[\w’'-]*)"
NAME = re.compile(
    rf"\b{_CAPITAL}(?:(?: (?:of|the|de|la|le|von|van|der|del|da|di|&)){{0,2}} (?:{_CAPITAL}|\d+\b(?![–-]))"
    rf"|(?<=Prize) (?:in|for) {_CAPITAL})*"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”)]? (?=[\"“(]?[A-Z0-9À-Þ])")
_ABBREVIATION = re.compile(rf"\b(?:[A-Z]|{any_of(KNOWN['abbreviations'])})\.$")
_LONGEST = 2000  # characters of a sentence
_LONGEST_WORD = 64  # characters from which a stem is made, which are remembered


class Word(NamedTuple):
    """A word of a text: where it begins and ends, as written, and its stem."""

    start: int
    end: int
    text: str
    stem: str


def words(text: str) -> list[Word]:
    """All words of a text, in order."""
    matches = list(re.finditer(r"\w+", text))
    found = _stemmed([match[0] for match in matches])
    return [Word(match.start(), match.end(), match[0], stem) for match, stem in zip(matches, found, strict=True)]


def stems(text: str) -> list[str]:
    """The stems of a text's content words."""
    return [word.stem for word in words(text) if word.text.lower() not in STOP]


@lru_cache(maxsize=1 << 16)
def alike(one: str, other: str) -> float:
    """How far two stems say the same: 1 for the same word or a form of it, such as Italy and Italian, less for two
    words of one group, 0 for others."""
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if len(short) >= 5 and len(long) - len(short) <= 4 and long.startswith(short[:-1]) and not short.isdecimal():
        return 0.95
    groups = _groups()
    return 0.9 if groups.get(one, frozenset()) & groups.get(other, frozenset()) else 0.0


def sentences(text: str) -> list[str]:
    """Split a text where a capital or a digit follows a full stop, a question mark or an exclamation mark.

    It does not split after initials and common abbreviations. Longer pieces are cut to a fixed length.
    """
    found: list[str] = []
    for piece in _SENTENCE_END.split(text):
        if found and len(found[-1]) < _LONGEST and _ABBREVIATION.search(found[-1][-6:]):
            found[-1] += " " + piece
        elif piece.strip():
            found.append(piece.strip())
    return [piece[at : at + _LONGEST] for piece in found for at in range(0, len(piece), _LONGEST)]


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")


def _stemmed(texts: list[str]) -> list[str]:
    """The stems of words, without accents."""
    found = _stemmer().stemWords([text[:_LONGEST_WORD].lower() for text in texts])
    decomposed = (stem if stem.isascii() else unicodedata.normalize("NFKD", stem) for stem in found)
    return [stem if stem.isascii() else "".join(c for c in stem if not unicodedata.combining(c)) for stem in decomposed]


@cache
def _groups() -> dict[str, frozenset[int]]:
    """The groups of each stem that is in one."""
    groups = [set(_stemmed(group.split())) for group in KNOWN["alike"]]
    return {stem: frozenset(n for n, group in enumerate(groups) if stem in group) for stem in set().union(*groups)}
