"""Takes a question apart: what kind of answer it asks for, what it names, and what it says of what it names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lms.extractive.words import STOP, Word, words

__all__ = ["AUXILIARY", "SHARED", "Asked", "is_person", "take_apart", "weight"]

AUXILIARY = r"(?:is|are|was|were|am|do|does|did|can|could|has|have|had|will|would|should|may|might|must)\b"
SHARED = r"\b(?:both|same)\b"
_QUESTION_WORD = r"\b(?:who(?:m|se)?|when|where|what|which|why|how (?!to\b)\w+)\b"
_WHAT = r"(?:what|which)\b.*?"
_KINDS = (  # what is asked for, by the words that begin with the question word; the first that matches
    ("date", rf"when\b|{_WHAT} (?:year|date|decade|day|century|birthday)\b"),
    ("number", rf"how (?!did|do|does|is|are|was|were|can)\w+|{_WHAT} (?:number|population|percentage)\b"),
    ("measure", rf"{_WHAT} (?:height|length|depth|width|altitude|elevation|area|size|distance|weight|temperature)\b"),
    ("occupation", rf"{_WHAT} (?:occupation|profession|job)\b"),
    ("genre", rf"{_WHAT} (?:genre|sport)\b"),
    (
        "place",
        rf"where\b|{_WHAT} (?:birthplace|city|country|state|town|village|county|place|island|location|capital)\b",
    ),
    ("person", r"who"),
)
_MEASURES = {"tall": "length", "high": "length", "deep": "length", "far": "length", "wide": "length", "long": "length"}
_MEASURES |= {"big": "area", "large": "area", "heavy": "weight", "old": "time", "much": "money", "fast": "speed"}
_MEASURES |= {"height": "length", "length": "length", "depth": "length", "width": "length", "altitude": "length"}
_MEASURES |= {"elevation": "length", "distance": "length", "area": "area", "size": "area", "weight": "weight"}
_MEASURES |= {"temperature": "temperature"}
_PERSON_NOUNS = """
    general king queen emperor empress president pope saint poet admiral captain chief monk priest bishop archbishop
    prince princess wife husband father mother son daughter brother sister uncle aunt twin lieutenant envoy merchant
    architect botanist person man woman boy girl coach regent hero champion
"""
_PERSONS = frozenset(_PERSON_NOUNS.split())
_NO_PERSONS = frozenset("river crater tower number letter water chapter theater center power paper order maker".split())  # noqa: SIM905
_LIGHT_WORDS = """
    name title called kind type sort ever get go keep kept version main own certain still today now actually exactly
"""  # say little of what is asked
_LITTLE = 0.4
_MOST = 100  # words of a question that are read
_OCCUPATION = r"occupation|profession|job|genre|sport|living"
_ORDINALS = r"(?:first|last|only|most|main|\w+est)"
_LIGHT = frozenset(_LIGHT_WORDS.split())


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, taken apart.

    Attributes:
        kind: The kind of answer: "yesno", "choice", "date", "number", "measure",
            "occupation", "genre", "place", "person" or "thing".
        measure: For a number with a unit, what is measured, such as "length"; else empty.
        sort: The stem of the noun that the answer is one of, as "river" in "Which river …"; else empty.
        names: The words of names, and numbers.
        said: The other words that carry meaning.
        key: The one of these that says what the question is about in the first place, if that is plain: the verb of
            "Who directed …", the noun of "Who is the mother of …".
    """

    kind: str
    measure: str
    sort: str
    names: tuple[Word, ...]
    said: tuple[Word, ...]
    key: Word | None


def take_apart(question: str, titles: Iterable[str], *, choice: bool) -> Asked:
    """Take a question apart.

    Args:
        question: The question.
        titles: The titles of the passages, which tell the names in a question that has no capitals.
        choice: Whether the question joins two names with "or".
    """
    found = words(question)[:_MOST]
    kind, at = _kind(question.lower(), choice=choice)
    measure, noun = "", None
    head = [word for word in found if word.start >= at][1:]  # behind the question word
    lead = question[at : head[0].start].lower() if head else ""
    if lead.startswith(("which", "what", "whose")):
        noun = _sort(head)
    if lead.startswith("how") and head:
        noun = _sort(head[1:]) if head[0].text.lower() in ("many", "much") else None
        measure = _MEASURES.get(head[0].text.lower(), "")
    elif kind == "measure":
        measure = next((_MEASURES[word.text.lower()] for word in head if word.text.lower() in _MEASURES), "")
    if kind == "thing" and noun and is_person(noun.text):
        kind = "person"
    elif kind in ("occupation", "genre") or (noun and noun.text.lower() in _LIGHT):
        noun = None
    first = found[0].start if found else 0
    capitals = [w for w in found if w.start != first and w.text[0].isupper() and w.text.lower() not in STOP]
    titled = {word.text.lower() for title in titles for word in words(title)}
    names, said = [], []
    for word in found:
        if len(word.text) == 1 and not word.text.isdecimal():
            continue
        if (word.text.lower() in STOP and word not in capitals) or re.fullmatch(_QUESTION_WORD, word.text.lower()):
            continue
        if word in capitals or word.text[0].isdecimal() or (not capitals and word.text.lower() in titled):
            names.append(word)
        elif kind in ("occupation", "genre") and re.fullmatch(_OCCUPATION, word.text.lower()):
            continue
        elif (
            word != noun and word.text.lower() not in ("many", "much") and not (word.start == first and kind == "yesno")
        ):
            said.append(word)
    return Asked(kind, measure, noun.stem if noun else "", tuple(names), tuple(said), _key(question, at, noun, said))


def weight(word: Word) -> float:
    """How much a word of the question says of what is asked."""
    return _LITTLE if word.text.lower() in _LIGHT else 1.0


def is_person(noun: str) -> bool:
    """Whether a noun is one for people."""
    noun = noun.lower()
    agent = re.search(r"(?:er|or|ist|ian|tress|man|woman)s?$", noun) is not None
    return noun in _PERSONS or (agent and noun not in _NO_PERSONS)


def _kind(asked: str, *, choice: bool) -> tuple[str, int]:
    """The kind of answer that the question word asks for, and where that word stands."""
    shared = re.search(SHARED, asked)
    found = list(re.finditer(_QUESTION_WORD, asked))
    begins = [match for match in found if re.fullmatch(r"(?:[a-z]+ ){0,2}", asked[: match.start()])]
    at = (begins or found[-1:])[0].start() if found else 0
    if choice and not shared:
        return "choice", at
    if re.match(AUXILIARY, asked) or (shared and not found):
        return "yesno", at
    if not found:
        return "thing", at
    head = " ".join(asked[at:].split(maxsplit=6)[:6])
    if re.match(r"what (?:do|does|did) .+ (?:do|living)\W*$", asked[at:]):
        return "occupation", at
    return next((kind for kind, form in _KINDS if re.match(form, head)), "thing"), at


def _key(question: str, at: int, noun: Word | None, said: list[Word]) -> Word | None:
    """The verb right behind the question word or its noun; else the noun of "is the … of"; else "called"."""
    begin = re.compile(r"\w*").match(question, at)
    after = noun.end if noun else begin.end() if begin else at
    of = re.match(rf" {AUXILIARY} the (?:\w+ )?(\w+) (?:of|for)\b", question[after:])
    keys = [word for word in said if question[after : word.start].isspace()]
    keys += [word for word in said if of and word.start == after + of.start(1)]
    keys += [word for word in said if word.text.lower() in ("called", "named", "nicknamed") and not noun]
    return keys[0] if keys else None


def _sort(head: list[Word]) -> Word | None:
    """The noun behind "which" or "what": the last word before an auxiliary, or before a verb and its object."""
    run: list[Word] = []
    text = " ".join(word.text.lower() for word in head)
    if re.match(r"(?:is|was) the (?:name|title) of", text):
        head = [word for word in head[4:] if word.text.lower() not in ("the", "a", "an")]
    elif re.match(rf"(?:is|was|are|were) the {_ORDINALS} ", text):
        head = head[2:]
    head = [word for word in head if not re.fullmatch(_ORDINALS, word.text.lower())]
    for word in head:
        text = word.text.lower()
        if re.fullmatch(AUXILIARY, text):
            return run[-1] if run else None
        if text in STOP or (word.text[0].isupper() and run):
            break
        if not word.text[0].isupper():
            run.append(word)
    else:
        return run[-1] if run else None
    return run[-2] if len(run) > 1 else run[0] if run else None
