"""Words and their forms: stems, which words say the same, names, dates, numbers and sentences."""

import re
import unicodedata
from functools import cache, lru_cache
from typing import NamedTuple

import Stemmer

__all__ = [
    "CALENDAR",
    "DATE",
    "MONTH",
    "NAME",
    "NUMBER",
    "STOP",
    "YEAR",
    "Word",
    "alike",
    "sentences",
    "stems",
    "words",
]

_STOP_WORDS = """
    a about after all also an and any are as at be been before between both but by can could did do does during each
    either for from had has have he her him his how i if in into is it its me more most my name named of on one or
    other our same she should so some such than that the their them then there these they this those to two was we
    among behind near together upon within were what when where which while who whom whose why will with would you your
"""
STOP = frozenset(_STOP_WORDS.split())
MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
YEAR = r"\b(?:1\d|20)\d\d\b"
DATE = re.compile(rf"\b(?:\d{{1,2}} )?{MONTH} (?:\d{{1,2}}, )?\d{{3,4}}\b|{YEAR}(?:s\b)?")
CALENDAR = re.compile(rf"(?:{MONTH}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)\b")
NUMBER = re.compile(
    r"\b\d[\d,]*(?:\.\d+)?\b(?: (?:hundred|thousand|million|billion|percent|per cent)\b|%)?"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty)\b"
)
_CAPITAL = r"[A-ZÀ-ÞĀ-Ž](?:\.(?=[A-Z ])|[\w’'-]*)"
NAME = re.compile(
    rf"\b{_CAPITAL}(?:(?: (?:of|the|de|la|le|von|van|der|del|da|di|&)){{0,2}} (?:{_CAPITAL}|\d+\b)"
    rf"|(?<=Prize) (?:in|for) {_CAPITAL})*"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”)]? (?=[\"“(]?[A-Z0-9À-Þ])")
_ABBREVIATION = re.compile(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Inc|Ltd|Co|Gen|Col|Lt|Prof|Rev|c|ca|b|d)\.$")
_LONGEST = 2000  # characters of a sentence
_LONGEST_WORD = 64  # characters from which a stem is made, which are remembered

# Words that say the same in a question and in an encyclopedia, with their irregular forms. A word can be in several.
_GROUPS = """
    born birth birthplace birthday native
    die died death dead killed fell
    buried burial grave tomb
    kill killed murder murdered shot assassinated
    direct directed director filmmaker
    write wrote written writer author novelist playwright script screenplay penned
    compose composed composer music score scores scored soundtrack
    play plays played player part role star stars starred starring portray acted actor actress lead cast appears
    design designed designer architect built build builder constructed devised devise engineer
    make made maker build built builder manufacturer manufactured producer
    founded founder founding established establish started start began formed created set
    discover discovered discoverer discovery found find detected identified isolated spotted
    invent invented inventor devised developed
    called call named name nickname nicknamed known title entitled renamed
    open opened opening inaugurated
    lead leader led headed commanded commander command under
    troops army force forces soldiers
    win won winner victory victor victorious
    win won award awarded prize received receive get got honoured medal
    defeat defeated beat destroyed
    marry married wife husband spouse
    father son daughter child children
    mother son daughter child children
    son father
    daughter father
    brother sister sibling
    lie lies located situated stands stand location
    flow flows enters drains joins ends end meets mouth empties runs
    cross crosses spans over crossing
    high height tall rises elevation altitude
    long length
    deep depth
    area size covers
    occupation job profession work living
    study studied attend attended educated graduated education university school
    live lived home house resided
    home stadium ground plays
    succeeded successor followed succeed
    disease illness sickness
    sign signed concluded
    publish published appeared released release came
    climb climbed ascent ascend
    reach reached struck land landed arrived
    ship vessel steamer boat whaler
    film movie picture feature
    begin began begun started
    finish finished completed complete ended
    film filmed shot shoot
    mine colliery pit
    suggest suggested propose proposed
    sue sued legal
    teach taught teacher
    give gave given
    become became
    sell sold
    draw drew drawn
    chief main
    britain british
    denmark danish
    england english
    finland finnish
    france french
    greece greek
    ireland irish
    netherlands dutch
    poland polish
    scotland scottish
    spain spanish
    sweden swedish
    switzerland swiss
    turkey turkish
    wales welsh
    country nation
    town city
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


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")


def _stemmed(texts: list[str]) -> list[str]:
    found: list[str] = _stemmer().stemWords([text[:_LONGEST_WORD].lower() for text in texts])
    return found


@cache
def _groups() -> dict[str, frozenset[int]]:
    """The groups of each stem that is in one."""
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_GROUPS.split("\n")):
        for stem in _stemmed(line.split()):
            found.setdefault(stem, set()).add(number)
    return {stem: frozenset(numbers) for stem, numbers in found.items()}


@lru_cache(maxsize=1 << 14)
def _plain(stem: str) -> str:
    """A stem without accents."""
    return "".join(char for char in unicodedata.normalize("NFKD", stem) if not unicodedata.combining(char))


@lru_cache(maxsize=1 << 16)
def alike(one: str, other: str) -> float:
    """How far two stems say the same: 1 for the same word or a form of it, such as Italy and Italian, less for two
    words of one group, 0 for others."""
    one, other = _plain(one), _plain(other)
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
        if found and _ABBREVIATION.search(found[-1][-6:]):
            found[-1] += " " + piece
        elif piece.strip():
            found.append(piece.strip())
    return [piece[at : at + _LONGEST] for piece in found for at in range(0, len(piece), _LONGEST)]
