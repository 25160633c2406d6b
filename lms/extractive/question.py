"""Takes a question apart: what kind of answer it asks for, what it names, and what it says of what it names."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from lms.extractive.words import KNOWN, STOP, Word, any_of, words

__all__ = ["SHARED", "Question", "is_person", "take_apart"]

SHARED = r"\b(?:both|same)\b"
_MEASURES = any_of(" ".join(KNOWN["units"]))
_AUXILIARY = any_of("is are was were am do does did can could has have had will would should may might must") + r"\b"
_ASKING = r"\b(?:who(?:m|se)?|when|where|what|which|why|how (?!to\b)\w+)\b"
_WHAT = r"(?:what|which)\b.*?"
_KINDS = (  # what is asked for, by the words that begin with the question word; the first that matches
    ("date", rf"when\b|{_WHAT} (?:year|date|decade|day|century|birthday)\b"),
    ("number", rf"how (?!did|do|does|is|are|was|were|can)\w+|{_WHAT} (?:number|population|percentage|{_MEASURES})\b"),
    ("occupation", rf"{_WHAT} (?:occupation|profession|job|for a living)\b"),
    ("genre", rf"{_WHAT} (?:genre|sport)\b"),
    ("place", rf"where\b|{_WHAT} (?:birthplace|city|country|state|town|village|county|place|island|capital)\b"),
    ("person", r"who"),
)
_PEOPLE = rf"(?:{any_of(KNOWN['people'])}|(?!{any_of(KNOWN['no_people'])}s?$)\w*(?:er|or|ist|ian|tress|man))s?"
_ENTITLED = r"(?:is|was|are|were) the (?:(?:name|title) of (?:the )?|(?={} ))"
_ORDINALS = r"(?:first|last|only|most|main|chief|\w+est)"
_LIGHT = frozenset(KNOWN["light"].split())
_MOST = 100  # words of a question that are read


class Question(NamedTuple):
    """A question, taken apart.

    Attributes:
        text: The question, on one line.
        kind: The kind of answer: "yesno", "choice", "date", "number", "occupation", "genre", "place", "person" or
            "thing".
        unit: For a number, the pattern of the unit that it must have; empty if it needs none.
        sort: The stem of the noun that the answer is one of, as "river" in "Which river …"; else empty.
        names: The words of names, and numbers.
        said: The other words that carry meaning.
        key: The one of these that an answer must be told with, if that is plain: the verb, or the noun of "the … of".
    """

    text: str
    kind: str
    unit: str
    sort: str
    names: list[Word]
    said: list[Word]
    key: Word | None


def take_apart(text: str, titles: Iterable[str], *, choice: bool) -> Question:
    """Take a question apart.

    Args:
        text: The question; a mere noun phrase asks what it is.
        titles: The titles of the passages, which tell the names in a question that has no capitals.
        choice: Whether the question joins two names with "or".
    """
    found = words(text)[:_MOST]
    kind, at = _kind(text.lower(), choice=choice)
    head = [word for word in found if word.start >= at]  # from the question word on
    begin = [word.text.lower() for word in head[:6]]
    measure = next((word for word in begin if kind == "number" and re.fullmatch(_MEASURES, word)), "")
    unit = next((unit for asks, unit in KNOWN["units"].items() if measure in asks.split()), "")
    noun = None
    if begin and re.match("which|what|whose|how", begin[0]) and not unit:
        noun = _sort(head[2 if begin[0] == "how" else 1 :])
    if kind == "thing" and noun and is_person(noun.text):
        kind = "person"
    sort = noun.stem if noun and noun.text.lower() not in _LIGHT else ""
    titled = {word.text.lower() for title in titles for word in words(title)}
    capitals = [word for word in found[1:] if word.text[0].isupper() and word.text.lower() not in STOP]
    names, said = list[Word](), list[Word]()
    for word in found[kind == "yesno" :]:
        plain = word.text.lower()
        if word in capitals or plain[0].isdecimal() or (not capitals and plain in titled and plain not in STOP):
            names.append(word)
        elif len(plain) > 1 and word != noun and not (plain in STOP | _LIGHT or re.fullmatch(_ASKING, plain)):
            said.append(word)
    return Question(text, kind, unit, sort, names, said, _key(text, at, noun, names, said))


def is_person(noun: str) -> bool:
    """Whether a noun is one for people."""
    return re.fullmatch(_PEOPLE, noun.lower()) is not None


def _kind(text: str, *, choice: bool) -> tuple[str, int]:
    """The kind of answer that the question word asks for, and where that word stands."""
    found = list(re.finditer(_ASKING, text))
    begins = [match for match in found if re.fullmatch(r"(?:[a-z]+ ){0,2}", text[: match.start()])]
    at = (begins or found[-1:])[0].start() if found else 0
    shared = re.search(SHARED, text)
    if choice and not shared:
        return "choice", at
    if re.match(_AUXILIARY, text) or (shared and not found):
        return "yesno", at
    begun = text[at : at + 20 * _MOST] if found else f"what {text}"
    if re.match(r"what (?:do|does|did) .+ (?:do|living)\W*$", begun):
        return "occupation", at
    head = " ".join(begun.split(maxsplit=6)[:6])
    return next((kind for kind, form in _KINDS if re.match(form, head)), "thing"), at


def _sort(head: list[Word]) -> Word | None:
    """The noun behind "which" or "what": the last word before an auxiliary, or before a verb and its object."""
    text = " ".join(word.text.lower() for word in head)
    if of := re.match(_ENTITLED.format(_ORDINALS), text):
        head = head[len(of[0].split()) :]
    run: list[Word] = []
    for word in (word for word in head if not re.fullmatch(_ORDINALS, word.text.lower())):
        auxiliary = re.fullmatch(_AUXILIARY, word.text.lower())
        if auxiliary or word.text.lower() in STOP or (word.text[0].isupper() and run):
            return run[-2 if len(run) > 1 and not auxiliary else -1] if run else None
        if not word.text[0].isupper():
            run.append(word)
    return run[-1] if run else None


def _key(text: str, at: int, noun: Word | None, names: list[Word], said: list[Word]) -> Word | None:
    """The verb behind the question word or its noun; the noun of "is the … of"; the verb behind a name."""
    begin = re.compile(r"\w*").match(text, at)
    after = noun.end if noun else begin.end() if begin else at
    rest = text[after:]
    keys = [word for word in said if text[after : word.start].isspace()]
    of = re.match(rf" {_AUXILIARY} the (?:\w+ )?(\w+) (?:of|for)\b", rest)
    if of and not re.match("where|when", text[at:], re.I):
        keys += [word for word in said if word.start == after + of.start(1)]
    if not keys and re.match(rf" {_AUXILIARY}", rest):
        keys = [word for word in said if any(text[name.end : word.start].isspace() for name in names)]
        if not re.match(r" d(?:o|oes|id)\b", rest):
            keys = [word for word in keys if not re.search(r"\w", text[word.end :])]
        keys = keys[-1:] if re.search(r"\b(?:who|that|which|whose)\b", rest) else keys
    return keys[0] if keys else None
