"""One score for the spans of a sentence that have the form of an answer; the best span answers, or none.

A span is believed only where its sentence, together with the title and the opening of its passage, says what the
question says: the names that the question names, and what it asks of them in the same words, in a form of them or in a
synonym. Among those that are believed the score prefers spans of the right sort, close to the question's words.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from lms.extractive.passages import NumberedPassage
from lms.extractive.question import Question, is_person
from lms.extractive.words import CALENDAR, DATE, KNOWN, NAME, NUMBER, STOP, Word, alike, any_of, stems, words

__all__ = ["Sentence", "best_answer"]

_NO_PERSON = re.compile(rf"\b{any_of(KNOWN['no_person'])}\b")
_SORT = re.compile(  # "is a former American film director and": film director
    r"\b(?:is|was|were|are) (?:an? |the )?(?:(?:[A-Z][\w-]+|former|retired|professional|and) )*"
    r"\b([a-z][a-z-]+(?: [a-z-]+)?)(?= (?:and|from|who|which|that|in|of|for|by|at|with|based|known|born)\b|[,.;(]|$)"
)
_PEOPLE = re.compile(r"[A-Z]\w+(?:an|ese|ish|ch|ic)$")
_PRONOUN = re.compile(r"\b(?:he|she|it|they|his|her|its|their)\b", re.I)
_RANK = re.compile(rf"^(?:{any_of(KNOWN['ranks'])} )+")
_INTRODUCE = ("of", "the", "a", "an", "by", "with", "as", "from", "in", "for")
_NO_NAME = STOP | {"although", "since", "once", "besides", "bc", "ad"}
_LIFE = re.compile(r"\(([^()–-]{0,40}\d{3,4})\s?[–-]\s?([^()–-]{0,40}\d{3,4})\)")
_WORKS = {  # who is named behind "novel by", or has a novel in "his novel", wrote it
    "written": r"(?:novel|book|story|stories|play|comedy|poem)s?",
    "directed": "films?",
    "composed": "(?:song|opera|symphony)s?",
}

# What counts, on one scale with the closeness to the question's words: round numbers, chosen on other questions than
# those that benchmarks/extractive_reader.py measures with.
_SUPPORT = 8.0  # for a sentence that bears the whole question
_SORTED = 1.5  # for a name of the sort that is asked for
_SUBJECT = 1.5  # for a passage about what the question names
_NAMED = 0.75  # share of the question's names that must be there
_SAID, _MANY = 0.6, 0.7  # share of its other words, and of more than three
_LEAST = 3  # words that must all be met where the question names nothing
_HERE, _FORM = 0.9, 0.95  # what a synonym is worth at least, and another form of a word
_AROUND = 0.75  # worth of a name elsewhere in the passage, or of another word in its first sentence
_KNOWN, _RARE = 0.2, 3.0  # worth of being close to a name in the title, and to another: it tells sentences apart
_NEAR = 12  # characters at which a word of the question counts half
_CLOSE = 60  # characters around a span that describe it


class _Span(NamedTuple):
    """Words of a sentence: where they begin and end, and the text that they stand for."""

    start: int
    end: int
    text: str


class Sentence:
    """A sentence of a passage, read for a question.

    Attributes:
        text: The sentence.
        passage: Its passage.
        stems: The stems of the sentence and of its title.
        lead: Another passage, which has words of the question and names this one; None if there is none.
    """

    def __init__(self, question: Question, text: str, passage: NumberedPassage) -> None:
        self.text = text
        self.passage = passage
        self.stems = frozenset(stems(f"{passage.title} {text}"))
        self.lead: NumberedPassage | None = None
        self._question = question

    @cached_property
    def read(self) -> str:
        """The sentence, where forms become words: of a life in brackets, and of works by someone."""
        kind = self._question.kind
        text = _LIFE.sub(r"(born \1, died \2)", self.text) if kind == "date" else self.text
        for made, works in _WORKS.items() if kind == "person" else ():
            text = re.sub(rf"\b({works}(?: of \d+)?) by\b", rf"\1 {made} by", text)
            text = re.sub(rf"\b([Hh]is|[Hh]er) (?=(?:\w+ )?{works}\b)", rf"\1 {made} ", text)
        return text

    @cached_property
    def _words(self) -> dict[str, list[Word]]:
        """The words of the sentence and of what is around it."""
        lead = self.lead
        return {
            "sentence": words(self.read),
            "title": words(self.passage.title),
            "opening": words(self.passage.opening),
            "passage": words(self.passage.beginning),
            "lead": words(f"{lead.title} {lead.beginning}") if lead else [],
        }

    def support(self, span: _Span) -> float | None:
        """How much of the question the sentence bears beside a span, from 0 to 1; None if that is too little."""
        asked = self._question
        beside = None if asked.unit else span  # 22 years old: the span says "old"
        names = [self._met(word, name=True, beside=span) for word in asked.names]
        said = [self._met(word, beside=beside) for word in asked.said]
        if asked.sort:
            sure = asked.kind == "number" or _has_noun(span, asked.sort) or _follows(asked, self.read[: span.start])
            sort = 1.0 if sure else _match(asked.sort, self._words["sentence"])
            said += [(sort, sort >= _HERE)] if sort or asked.kind != "place" else []
        named, told = _mean(names), _mean(said)
        here = [here for _, here in said]
        if names and (named < _NAMED or not any(here for _, here in names)):
            return None
        if not names and (len(said) < _LEAST or not all(here)):
            return None
        if said and (told < (_SAID if len(said) <= _LEAST else _MANY) or not any(here)):
            return None
        if asked.key and not self._met(asked.key, beside=beside)[1] and not (asked.kind == "number" and asked.sort):
            return None
        return (named + told) / 2

    def bears(self) -> bool | None:
        """Whether the sentence bears a question for yes or no; None if it is about something else.

        It bears all of it, or what is said of its subject but not all of the rest: then the answer is no.
        """
        title, asked = self._words["title"], self._question
        if not any(_match(word.stem, title) for word in asked.names):
            return None
        said = [self._met(word) for word in asked.said]
        names = all(_match(word.stem, [*self._words["sentence"], *title]) == 1 for word in asked.names)
        if names and all(worth >= _AROUND for worth, _ in said):
            return True
        return False if any(here for _, here in said) else None

    def _met(self, word: Word, *, name: bool = False, beside: _Span | None = None) -> tuple[float, bool]:
        """How well a word of the question is met, from 0 to 1, and whether the sentence or what leads to it does."""
        own = [w for w in self._words["sentence"] if beside is None or w.end <= beside.start or w.start >= beside.end]
        hops = len(self._question.said) > 1  # else there is nothing that could lead here
        here, title = _match(word.stem, own + self._words["lead"] * hops), _match(word.stem, self._words["title"])
        around = _AROUND * _match(word.stem, self._words["passage" if name else "opening"])
        close = here >= _HERE or (name and (title >= _HERE or (around > 0 and hops)))
        return max(here, title, around), close

    def nearness(self, span: _Span) -> float:
        """How close the question's words stand to a span: most to names, unless they only repeat the title."""
        asked = self._question
        known = [_match(word.stem, self._words["title"]) > 0 for word in asked.names]
        worths = [_KNOWN if each else _RARE if any(known) else 1.0 for each in known]
        names = sum(worth * self._near(word, span) for worth, word in zip(worths, asked.names, strict=True))
        return names + sum(self._near(word, span) for word in asked.said)

    def _near(self, asked: Word, span: _Span) -> float:
        """How close a word of the question stands to a span, from 0 to 1; who does something is named before it."""
        near = 0.0
        for word in self._words["sentence"]:
            if (match := alike(asked.stem, word.stem)) and not span.start <= word.start < span.end:
                between = self.read[min(word.end, span.end) : max(span.start, word.start)]
                behind = self._question.kind == "person" and word.end <= span.start
                late = behind and not re.search(r"\b(?:by|of|under) ", between)
                near = max(near, match / (1 + len(between) / _NEAR + between.count(",") + late))
        return near


def best_answer(
    question: Question, ranked: Sequence[Sentence], found: Sequence[NumberedPassage]
) -> tuple[str, Sentence | None]:
    """The span that answers best, with its sentence; empty and None if none is borne by its sentence.

    Args:
        question: The question.
        ranked: The sentences to take answers from.
        found: All passages: what they are about says what a name is.
    """
    openings = {p.name.lower(): p.opening for p in found}
    asks = {word.stem for word in (*question.names, *question.said)}
    best: tuple[float, str, Sentence | None] = 0.0, "", None
    for sentence in ranked:
        subject = _SUBJECT * (set(stems(sentence.passage.name)) <= asks)
        for span in _spans(question, sentence.read, sentence.passage.name):
            fit = _fit(question, sentence.read, span, openings.get(span.text.lower(), ""))
            borne = None if fit is None else sentence.support(span)
            if fit is not None and borne is not None:
                score = _SUPPORT * borne + fit + sentence.nearness(span) + subject
                best = max(best, (score, span.text, sentence), key=lambda each: each[0])
    return best[1:]


def _spans(asked: Question, text: str, subject: str) -> Iterator[_Span]:
    """The spans of a sentence that have the form the question asks for; pronouns stand for the passage's subject."""
    if asked.kind == "date":
        yield from (_Span(match.start(), match.end(), match[0]) for match in DATE.finditer(text))
    elif asked.kind == "number":
        for match in NUMBER.finditer(text):
            rest = text[match.end() : match.end() + _CLOSE]
            counted = list(takewhile(lambda word: word.text.lower() not in STOP, words(rest)))[:4]
            unit = re.match(rf"[ -](?:{asked.unit})\b" if asked.unit else "", rest)
            if unit and (asked.unit or not asked.sort or _match(asked.sort, counted)):
                yield _Span(match.start(), match.end() + unit.end(), match[0] + unit[0])
    elif asked.kind in ("occupation", "genre"):
        yield from (_Span(match.start(1), match.end(1), match[1]) for match in _SORT.finditer(text))
    else:
        yield from _names(text, subject)
        yield from (_Span(match.start(), match.end(), subject) for match in _PRONOUN.finditer(text) if subject)
        yield from _nouns(asked, text) if asked.kind == "thing" else ()


def _names(text: str, subject: str) -> Iterator[_Span]:
    """Names, without a rank in front, a genitive's end, or the word with a capital that begins a sentence."""
    for match in NAME.finditer(text):
        at = match.start()
        for piece in re.split(r"(['’]s? )", match[0]):
            name = re.sub(r"(?:['’]s|['’]| of \d+)$", "", piece.strip())
            start = at + piece.find(name)
            while name and name != subject and name.partition(" ")[0].lower() in _NO_NAME:
                start, name = start + len(name.partition(" ")[0]) + 1, name.partition(" ")[2]
            if stems(name) and not CALENDAR.match(name):
                yield _Span(start, start + len(name), _RANK.sub("", name))
            at += len(piece)


def _nouns(asked: Question, text: str) -> Iterator[_Span]:
    """One or two words without a capital, behind an article, a preposition or a word of the question."""
    for word in words(text):
        if word.text in _INTRODUCE or any(alike(said.stem, word.stem) == 1 for said in asked.said):
            match = re.match(r" ([a-z][\w-]+|\w{1,2}\b)(?: ([a-z][\w-]+))?", text[word.end : word.end + _CLOSE])
            nouns = [noun for noun in match.groups() if noun] if match else []
            kept = " ".join(takewhile(lambda noun: noun not in STOP and not noun.endswith(("ed", "ing")), nouns))
            if kept:
                yield _Span(word.end + 1, word.end + 1 + len(kept), kept)


def _fit(asked: Question, text: str, span: _Span, opening: str) -> float | None:
    """How well a span suits the kind of answer; None if it cannot be one.

    `opening` is the first sentence of the passage about it; empty if there is none.
    """
    own = {stem for stem in stems(span.text) if len(stem) > 1} or {span.text.lower()}
    if own <= {word.stem for word in (*asked.names, *asked.said)}:
        return None  # nothing new
    if asked.kind in ("date", "number", "genre"):
        return 0.0
    if asked.kind == "occupation":
        return 0.0 if is_person(span.text.split()[-1]) else None
    before, after = text[max(0, span.start - _CLOSE) : span.start], text[span.end : span.end + _CLOSE]
    described = re.search(r"\b(?:is|was) (?:an?|the) (.*)", opening)
    nouns = words(re.split(r" (?:in|of|at|on|from|for|by|that|which|who)\b", described[1])[0] if described else "")
    born = re.search(r"\bborn\b|\(\s?(?:c\. )?\d{3,4}\s?[–-]", opening[:100]) is not None
    person = born or any(is_person(word.text) for word in nouns)
    placed = re.search(r"\b(?:in|at|from|near|to|into) (?:the )?(?:[\w-]+ \w+ of )?$", before)
    if asked.kind == "person":  # a person has two names, or is known as one
        no_person = (opening and not person) or placed or _NO_PERSON.search(span.text)
        return None if no_person else _SORTED * (re.fullmatch(r"\S+ \D+", span.text) is not None)
    if (asked.kind == "place" and person) or (asked.sort in own and span.text.islower()):
        return None  # a large house
    if asked.kind == "thing" and _PEOPLE.match(span.text) and re.match(" [a-z]", after):
        return None  # the Japanese studio
    noun = asked.sort or (asked.key.stem if asked.key else "")
    if noun and (_has_noun(span, noun) or _beside(noun, before, after) or _match(noun, nouns) >= _FORM):
        return _SORTED
    if asked.kind == "place":
        return 1.0 if placed else None
    return 0.0 if _follows(asked, before) else None


def _match(stem: str, among: Sequence[Word]) -> float:
    """How well the best of some words matches a stem, from 0 to 1."""
    return max((alike(stem, other.stem) for other in among), default=0.0)


def _mean(met: Sequence[tuple[float, bool]]) -> float:
    """The mean worth of some words; 1 of none."""
    return sum(worth for worth, _ in met) / len(met) if met else 1.0


def _follows(asked: Question, before: str) -> bool:
    """Whether a span stands right behind the verb of the question, as malaria in "died of malaria"."""
    match = re.search(r"(\w+)(?: (?:of|to|the|an?|his|her|its|as)){0,2} $", before[-_CLOSE:])
    verbs = [word for word in (asked.key, *asked.said[-1:]) if word]
    return match is not None and any(_match(word.stem, words(match[1])) for word in verbs)


def _has_noun(span: _Span, noun: str) -> bool:
    """Whether a name has the noun in it, given as a stem: Westminster Abbey is an abbey."""
    return any(alike(noun, stem) >= _HERE for stem in stems(span.text))


def _beside(noun: str, before: str, after: str) -> bool:
    """Whether a noun, given as a stem, stands right before a span or behind it: its town is Kärdla; Toho, a studio."""
    behind = re.match(r" [a-z]\w+|, [^.;]*", after)
    ahead = re.search(r"(\w+),?(?: (?:of|is|was|the|called|named)){0,2} $", before)
    return _match(noun, [*words(ahead[1] if ahead else ""), *words(behind[0] if behind else "")[:4]]) >= _FORM
