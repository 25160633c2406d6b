"""Takes a question apart: what kind of answer it asks for, what it names, and what it says of what it names."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from lms.extractive.words import STOP, Word, words

__all__ = ["SHARED", "Asked", "is_person", "take_apart"]

SHARED = r"\b(?:both|same)\b"
_UNITS = {  # what is measured: the words that ask for it, and the units that answer
    "tall|high|deep|far|wide|long|height|length|depth|width|altitude|elevation|distance": (
        r"(?:kilo|centi|milli)?met(?:re|er)s?|km|cm|mm|m|miles?|feet|foot|ft|yards?|inch(?:es)?|light-years?"
    ),
    "big|large|area|size": r"square (?:(?:kilo)?met(?:re|er)s?|miles?|km|feet)|km²|km2|sq mi|hectares?|acres?",
    "heavy|weight": r"kilogram(?:me)?s?|kg|g|grams?|tons?|tonnes?|pounds?|lbs?",
    "old|age": r"years?(?: old)?|months?|days?|hours?|minutes?",
    "fast|speed": r"km/h|mph|knots?|(?:kilomet(?:re|er)s|miles) (?:per|an) hour",
    "much": "(?:(?:thousand|million|billion) )?(?:dollars|pounds|euros|francs|marks|crowns|yen|lire|rupees)",
    "temperature": r"degrees?(?: (?:Celsius|Fahrenheit))?|°[CF]|K",
}
_MEASURES = "|".join(_UNITS)
_AUXILIARY = r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|should|may|might|must)\b"
_WORD = r"\b(?:who(?:m|se)?|when|where|what|which|why|how (?!to\b)\w+)\b"
_WHAT = r"(?:what|which)\b.*?"
_KINDS = (  # what is asked for, by the words that begin with the question word; the first that matches
    ("date", rf"when\b|{_WHAT} (?:year|date|decade|day|century|birthday)\b"),
    ("number", rf"how (?!did|do|does|is|are|was|were|can)\w+|{_WHAT} (?:number|population|percentage|{_MEASURES})\b"),
    ("occupation", rf"{_WHAT} (?:occupation|profession|job|for a living)\b"),
    ("genre", rf"{_WHAT} (?:genre|sport)\b"),
    ("place", rf"where\b|{_WHAT} (?:birthplace|city|country|state|town|village|county|place|island|capital)\b"),
    ("person", r"who"),
)
_PERSON = re.compile(
    r"(?:general|king|queen|emperor|empress|president|pope|saint|poet|admiral|captain|chief|monk|priest|(?:arch)?bishop|"
    r"prince|princess|son|wife|husband|uncle|aunt|twin|lieutenant|envoy|merchant|architect|botanist|person|boy|girl|"
    r"coach|regent|hero|champion|"
    r"(?!river|crater|tower|number|letter|water|chapter|theat|center|power|paper|order|maker)\w*(?:er|or|ist|ian|tress|man))s?"
)
_LIGHT = (  # tells the kind, or says little of what is asked
    r"occupation|profession|job|genre|sport|living|many|much|year|date|decade|day|century|name|title|called|kind|type|"
    r"sort|ever|get|go|keep|kept|version|main|own|certain|still|today|now|exactly|official|officially|people|only"
)
_MOST = 100  # words of a question that are read
_ORDINALS = r"(?:first|last|only|most|main|chief|\w+est)"


class Asked(NamedTuple):
    """A question, taken apart.

    Attributes:
        kind: The kind of answer: "yesno", "choice", "date", "number", "occupation", "genre", "place", "person" or
            "thing".
        unit: For a number, the pattern of the unit that it must have; empty if it needs none.
        sort: The stem of the noun that the answer is one of, as "river" in "Which river …"; else empty.
        names: The words of names, and numbers.
        said: The other words that carry meaning.
        key: The one of these that an answer must be told with, if that is plain: the verb, or the noun of "the … of".
    """

    kind: str
    unit: str
    sort: str
    names: list[Word]
    said: list[Word]
    key: Word | None


def take_apart(question: str, titles: Iterable[str], *, choice: bool) -> Asked:
    """Take a question apart.

    Args:
        question: The question; a mere noun phrase asks what it is.
        titles: The titles of the passages, which tell the names in a question that has no capitals.
        choice: Whether the question joins two names with "or".
    """
    found = words(question)[:_MOST]
    kind, at = _kind(question.lower(), choice=choice)
    head = [word for word in found if word.start >= at]  # from the question word on
    texts = [word.text.lower() for word in head[:6]]
    measure = next((text for text in texts if kind == "number" and re.fullmatch(_MEASURES, text)), "")
    unit = next((unit for form, unit in _UNITS.items() if measure in form.split("|")), "")
    noun = None
    if texts and re.match("which|what|whose|how", texts[0]) and not unit:
        noun = _sort(head[2 if texts[0] == "how" else 1 :])
    if kind == "thing" and noun and is_person(noun.text):
        kind = "person"
    sort = "" if not noun or re.fullmatch(_LIGHT, noun.text.lower()) else noun.stem
    titled = {word.text.lower() for title in titles for word in words(title)}
    capitals = [w for w in found[1:] if w.text[0].isupper() and w.text.lower() not in STOP]
    names, said = list[Word](), list[Word]()
    for word in found[kind == "yesno" :]:
        text = word.text.lower()
        if word in capitals or text[0].isdecimal() or (not capitals and text in titled and text not in STOP):
            names.append(word)
        elif len(text) > 1 and word != noun and not (text in STOP or re.fullmatch(rf"{_WORD}|{_LIGHT}", text)):
            said.append(word)
    return Asked(kind, unit, sort, names, said, _key(question, at, noun, names, said))


def is_person(noun: str) -> bool:
    """Whether a noun is one for people."""
    return _PERSON.fullmatch(noun.lower()) is not None


def _kind(asked: str, *, choice: bool) -> tuple[str, int]:
    """The kind of answer that the question word asks for, and where that word stands."""
    found = list(re.finditer(_WORD, asked))
    begins = [match for match in found if re.fullmatch(r"(?:[a-z]+ ){0,2}", asked[: match.start()])]
    at = (begins or found[-1:])[0].start() if found else 0
    shared = re.search(SHARED, asked)
    if choice and not shared:
        return "choice", at
    if re.match(_AUXILIARY, asked) or (shared and not found):
        return "yesno", at
    begun = asked[at : at + 20 * _MOST] if found else f"what {asked}"
    if re.match(r"what (?:do|does|did) .+ (?:do|living)\W*$", begun):
        return "occupation", at
    head = " ".join(begun.split(maxsplit=6)[:6])
    return next((kind for kind, form in _KINDS if re.match(form, head)), "thing"), at


def _sort(head: list[Word]) -> Word | None:
    """The noun behind "which" or "what": the last word before an auxiliary, or before a verb and its object."""
    text = " ".join(word.text.lower() for word in head)
    if of := re.match(rf"(?:is|was|are|were) the (?:(?:name|title) of (?:the )?|(?={_ORDINALS} ))", text):
        head = head[len(of[0].split()) :]
    run: list[Word] = []
    for word in (word for word in head if not re.fullmatch(_ORDINALS, word.text.lower())):
        verb = word.text.lower() in STOP or (word.text[0].isupper() and run)
        if verb or re.fullmatch(_AUXILIARY, word.text.lower()):
            return run[-2 if len(run) > 1 and not re.fullmatch(_AUXILIARY, word.text.lower()) else -1] if run else None
        if not word.text[0].isupper():
            run.append(word)
    return run[-1] if run else None


def _key(question: str, at: int, noun: Word | None, names: list[Word], said: list[Word]) -> Word | None:
    """The verb behind the question word or its noun; the noun of "is the … of"; the verb behind a name."""
    begin = re.compile(r"\w*").match(question, at)
    after = noun.end if noun else begin.end() if begin else at
    rest = question[after:]
    keys = [word for word in said if question[after : word.start].isspace()]
    of = re.match(rf" {_AUXILIARY} the (?:\w+ )?(\w+) (?:of|for)\b", rest)
    if of and not re.match("where|when", question[at:], re.I):
        keys += [word for word in said if word.start == after + of.start(1)]
    if not keys and re.match(rf" {_AUXILIARY}", rest):
        keys = [word for word in said if any(question[name.end : word.start].isspace() for name in names)]
        if not re.match(r" d(?:o|oes|id)\b", rest):
            keys = [word for word in keys if not re.search(r"\w", question[word.end :])]
        keys = keys[-1:] if re.search(r"\b(?:who|that|which|whose)\b", rest) else keys
    return keys[0] if keys else None
