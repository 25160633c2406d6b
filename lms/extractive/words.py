"""Words and their forms: stems, which words say the same, names, dates, numbers and sentences."""

import re
import unicodedata
from functools import cache, lru_cache
from typing import NamedTuple

import Stemmer

__all__ = ["CALENDAR", "DATE", "NAME", "NUMBER", "STOP", "YEAR", "Word", "alike", "sentences", "stems", "words"]

_STOP_WORDS = """
    a about after all also an and any are as at be been before between both but by can could did do does during each
    either for from had has have he her him his how i if in into is it its me more most my name named of on one or
    other our same she should so some such than that the their them then there these they this those to two was we
    among behind near together upon within were what when where which while who whom whose why will with would you your
"""
STOP = frozenset(_STOP_WORDS.split())
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
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
_ABBREVIATION = re.compile(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Inc|Ltd|Co|Gen|Col|Lt|Prof|Rev|c|ca|b|d)\.$")
_LONGEST = 2000  # characters of a sentence
_LONGEST_WORD = 64  # characters from which a stem is made, which are remembered

# Words that say the same in a question and in an encyclopedia, with their irregular forms. A word can be in several.
_GROUPS = """
    born birth birthplace birthday native; die death dead killed fell; buried burial grave tomb; kill murder shot
    assassinated; direct director filmmaker; write wrote written writer author novelist playwright script screenplay
    penned; compose music score soundtrack; play player part role star portray acted actor actress lead cast
    appears; design architect built build builder constructed devised engineer competition contest; make made maker
    build built builder manufacturer producer; found founder establish start formed created set; begin began begun
    start; discover discoverer discovery found find detected identified isolated spotted; invent inventor devised
    developed; open inaugurated; call name nickname known title entitled renamed; lead leader led headed conduct
    director commanded under; troops army force soldiers; win won winner victory victor; win won award prize
    received get got honoured medal; defeat beat destroyed; marry wife husband spouse; father son daughter child
    children; mother son daughter child children; brother sister sibling; lie located situated stands; flow enters
    drains joins ends meet mouth empties runs; cross spans over; high highest height tall rises elevation altitude;
    long longest length; deep deepest depth; area size large largest covers; occupation job profession work living;
    disease illness sickness; study attend educated graduated university school; live home house resided; home
    stadium ground plays; succeeded successor followed; sign concluded; publish appeared released came; climb ascent
    ascend; reach struck land arrived; ship vessel steamer boat whaler; film movie picture feature shot shoot; based
    adapted; finish completed; mine colliery pit; suggest propose; sue sued legal; teach taught teacher; give gave
    given; become became; sell sold; draw drew drawn; grow grew grown; chief main; choose chose chosen; country
    nation; town city; britain british; denmark danish; england english; finland finnish; france french; greece
    greek; ireland irish; netherlands dutch; poland polish; scotland scottish; spain spanish; sweden swedish;
    switzerland swiss; turkey turkish; wales welsh
"""


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
    found: list[str] = _stemmer().stemWords([text[:_LONGEST_WORD].lower() for text in texts])
    return [stem if stem.isascii() else _plain(stem) for stem in found]


def _plain(stem: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", stem) if not unicodedata.combining(char))


@cache
def _groups() -> dict[str, frozenset[int]]:
    """The groups of each stem that is in one."""
    groups = [set(_stemmed(group.split())) for group in _GROUPS.split(";")]
    return {s: frozenset(n for n, group in enumerate(groups) if s in group) for s in set().union(*groups)}
