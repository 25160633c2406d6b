"""Finds the span that answers a question, or none where the passages do not bear the question.

A span is believed only where its sentence, together with the title of its passage, says what the question says: the
names that the question names, and what it asks of them in the same words, in a form of them or in a synonym.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from lms.extractive.passages import NumberedPassage
from lms.extractive.question import Asked, is_person, weight
from lms.extractive.words import CALENDAR, DATE, NAME, NUMBER, STOP, Word, alike, sentences, stems, words

__all__ = ["Scope", "best_answer"]

_UNITS = {
    "length": r"(?:kilo|centi|milli)?met(?:re|er)s?|km|cm|mm|m|miles?|feet|foot|ft|yards?|inch(?:es)?|fathoms?|light-years?",
    "area": r"square (?:kilo)?met(?:re|er)s?|square (?:miles?|km|feet)|km²|km2|sq mi|hectares?|acres?",
    "weight": r"kilograms?|kilogrammes?|kg|g|grams?|tons?|tonnes?|pounds?|lbs?",
    "time": r"years?(?: old)?|months?|days?|hours?|minutes?",
    "speed": r"km/h|mph|knots?|(?:kilomet(?:re|er)s|miles) (?:per|an) hour",
    "temperature": r"degrees?(?: (?:Celsius|Fahrenheit))?|°[CF]|K",
}
_MONEY = re.compile(
    r"[£$€¥]\s?\d[\d,.]*(?: (?:thousand|million|billion))?"
    r"|\b\d[\d,.]*(?: (?:thousand|million|billion))? (?:dollars|pounds|euros|francs|marks|crowns|kronor|yen|lire|rupees)\b"
)
_SORT = re.compile(  # "is a former American film director and": film director
    r"\b(?:is|was|were|are) (?:an? |the )?(?:(?:[A-Z][\w-]+|former|retired|professional|and) )*"
    r"\b([a-z][a-z-]+(?: [a-z-]+)?)(?= (?:and|from|who|which|that|in|of|for|by|at|with|based|known|born)\b|[,.;(]|$)"
)
_NOUNS = re.compile(r"\b[a-z][\w-]+(?: [a-z][\w-]+)?\b")
_PRONOUN = re.compile(r"\b(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey|[Hh]is|[Hh]er|[Ii]ts|[Tt]heir)\b")
_RANK = re.compile(
    r"^(?:(?:General|Captain|Colonel|Admiral|Major|Lieutenant|Marshal|Professor|Doctor|Dr|Mr|Mrs|Sir|Dame|Lord) )+"
)
_NO_PERSON = re.compile(
    r"\b(?:River|Lake|University|College|Bridge|Prize|Award|Observatory|House|Festival|War|Cup|Station|Church|Cathedral|"
    r"Hill|Sea|Ocean|Islands?|Mount|Street|Company|Museum|Academy|Orchestra|Opera|Theatre|Hospital|Institute|Stadium|Park|"
    r"Union|Empire|Republic|Kingdom|States|Games|Olympics?|Championship|League|Party|School|Gulf|Bay|Band)\b"
)
_LIFE = re.compile(r"\b(?:born|died)\b|\(\s?(?:c\. )?\d{3,4}\s?[–-]")

# Thresholds: round numbers, chosen on questions that are in no test; see benchmarks/extractive_reader.py.
_NAMED = 0.75  # share of the question's names that must be there
_SAID = 0.6  # share of its other words
_ELSEWHERE = 0.6  # worth of a name that stands elsewhere in the passage, next to one in the title or the sentence
_DESCRIBED = 0.7  # worth of a word that describes the passage's subject in its first sentence
_NEAR = 12  # characters at which a word of the question counts half for a span


class _Span(NamedTuple):
    start: int
    end: int
    text: str


@dataclass
class Scope:
    """A sentence with what helps to read it.

    Attributes:
        text: The sentence.
        passage: Its passage.
        bridge: Another passage, which has words of the question and names this one; else empty.
    """

    text: str
    passage: NumberedPassage
    bridge: str = ""

    @cached_property
    def words(self) -> list[Word]:
        return words(self.text)

    @cached_property
    def title(self) -> list[Word]:
        return words(self.passage.title)

    @cached_property
    def opening(self) -> list[Word]:
        return words(" ".join(sentences(self.passage.text)[:1]))

    @cached_property
    def passage_words(self) -> list[Word]:
        return words(self.passage.text)

    @cached_property
    def bridge_words(self) -> list[Word]:
        return words(self.bridge)

    def worth(self, word: Word, *, name: bool, without: _Span | None = None) -> tuple[float, bool]:
        """How well a word of the question is met, from 0 to 1, and whether it is by the sentence itself."""
        inside = [w for w in self.words if without is None or w.end <= without.start or w.start >= without.end]
        here = _best(word, inside)
        title, bridge = _best(word, self.title), 0.95 * _best(word, self.bridge_words)
        if name:
            away = _ELSEWHERE * _best(word, self.passage_words)
        else:
            away = _DESCRIBED * _best(word, self.opening)
        return max(here, title, bridge, away), max(here, title if name else 0.0, bridge) >= 0.9

    def support(self, asked: Asked, span: _Span | None = None) -> float | None:
        """How much of the question the sentence bears beside a span, from 0 to 1; None if that is too little."""
        names = [self.worth(word, name=True, without=span) for word in asked.names]
        said = [_implied(asked, self, span, word) or self.worth(word, name=False, without=span) for word in asked.said]
        weights = [weight(word) for word in asked.said]
        if asked.sort and span and asked.kind in ("person", "place", "thing"):
            met = 1.0 if _is_sort(asked.sort, span) else _best(Word(0, 0, "", asked.sort), self.words)
            said, weights = [*said, (met, met >= 0.9)], [*weights, 1.0]
        named_share = sum(worth for worth, _ in names) / len(names) if names else 1.0
        met = sum(worth * share for (worth, _), share in zip(said, weights, strict=True))
        said_share = met / sum(weights) if said else 1.0
        if names and (named_share < _NAMED or not any(here for _, here in names)):
            return None
        if said and (said_share < _SAID or not any(here for _, here in said)):
            return None
        if not names and (len(said) < 3 or not all(here for _, here in said)):
            return None
        return (named_share + said_share) / 2

    def bears(self, asked: Asked) -> bool | None:
        """Whether the sentence bears a question for yes or no; None if it is about something else."""
        names = [self.worth(word, name=True) for word in asked.names]
        said = [self.worth(word, name=False) for word in asked.said]
        whole = [worth for worth, _ in (*names, *said)]
        if not whole or not any(_best(word, self.title) for word in asked.names):
            return None
        if min(whole) >= _ELSEWHERE:
            return True
        return False if any(here for _, here in said) else None


def best_answer(asked: Asked, scopes: Sequence[Scope], titles: Sequence[NumberedPassage]) -> str:
    """The span that answers best; empty if none is borne by its sentence.

    Args:
        asked: The question.
        scopes: The sentences to take answers from, best first.
        titles: All passages: what they are about says what a name is.
    """
    about = {p.name.lower(): " ".join(sentences(p.text)[:1]) for p in titles if p.name}
    found: dict[str, float] = {}
    for scope in scopes:
        for span in _spans(asked, scope):
            borne = scope.support(asked, span)
            fit = _fit(asked, scope, span, about)
            if borne is None or fit is None:
                continue
            score = 4 * borne + fit + _nearness(asked, scope, span)
            found[span.text] = max(score, found.get(span.text, 0.0))
    return max(found, key=lambda text: found[text], default="")


def _best(word: Word, among: Sequence[Word]) -> float:
    return max((alike(word.stem, other.stem) for other in among), default=0.0)


def _implied(asked: Asked, scope: Scope, span: _Span | None, word: Word) -> tuple[float, bool] | None:
    """What the form of the sentence says in place of a word.

    Dates in brackets behind a name are those of birth and death: (1842–1905). What a possessive pronoun counts was made
    or is owned: his nine symphonies.
    """
    if span is None:
        return None
    if asked.kind == "number" and re.search(r"\b(?:[Hh]is|[Hh]er|[Ii]ts|[Tt]heir) $", scope.text[: span.start]):
        return 0.9, True
    if asked.kind != "date" or not re.search(r"\([^()]*\d{3,4}", scope.text):
        return None
    before, after = scope.text[: span.start], scope.text[span.end : span.end + 3]
    if alike(word.stem, "born") >= 0.9 and re.search(r"\($", before) and re.match(r"\s?[–-]", after):
        return 1.0, True
    if alike(word.stem, "die") >= 0.9 and re.search(r"[–-]\s?$", before) and after.startswith(")"):
        return 1.0, True
    return None


def _spans(asked: Asked, scope: Scope) -> Iterator[_Span]:
    """Spans of the form that the question asks for."""
    text = scope.text
    if asked.kind == "date":
        yield from (_Span(m.start(), m.end(), m[0]) for m in DATE.finditer(text))
    elif asked.kind in ("number", "measure"):
        yield from _numbers(asked, text)
    elif asked.kind == "sort":
        yield from (_Span(m.start(1), m.end(1), m[1]) for m in _SORT.finditer(text))
    else:
        yield from _names(scope)
        if asked.kind == "thing":
            yield from _nouns(text)


def _numbers(asked: Asked, text: str) -> Iterator[_Span]:
    """Numbers: of money, with a unit of what is measured, or in front of the noun that is counted."""
    if asked.measure == "money":
        yield from (_Span(m.start(), m.end(), m[0]) for m in _MONEY.finditer(text))
        return
    for match in NUMBER.finditer(text):
        rest = text[match.end() :]
        if asked.measure:
            unit = re.match(rf"[ -](?:{_UNITS[asked.measure]})\b", rest)
            if unit:
                yield _Span(match.start(), match.end() + unit.end(), match[0] + unit[0])
        elif not asked.sort or any(alike(asked.sort, w.stem) for w in words(rest)[:4]):
            yield _Span(match.start(), match.end(), match[0])


def _names(scope: Scope) -> Iterator[_Span]:
    """Names in the sentence, and the passage's title wherever a pronoun stands for it."""
    for match in NAME.finditer(scope.text):
        start = match.start()
        for piece in re.split(r"(['’]s? )", match[0]):
            text = re.sub(r"(?:['’]s|['’])$", "", piece).strip()
            shift = piece.find(text) if text else 0
            while text and text.partition(" ")[0].lower() in STOP | {"although", "since", "once", "besides"}:
                if text == scope.passage.name:
                    break
                shift += len(text.partition(" ")[0]) + 1
                text = text.partition(" ")[2]
            if text and stems(text) and not CALENDAR.match(text) and text not in ("BC", "AD"):
                yield _Span(start + shift, start + shift + len(text), _RANK.sub("", text))
            start += len(piece)
    if scope.passage.name:
        yield from (_Span(m.start(), m.end(), scope.passage.name) for m in _PRONOUN.finditer(scope.text))


def _nouns(text: str) -> Iterator[_Span]:
    """Noun phrases without a capital, behind an article or a preposition."""
    for match in re.finditer(r"\b(?:of|the|an?|by|with|as|from|in|for|called|named|symbol|invented|discovered) ", text):
        rest = text[match.end() :]
        found = re.match(r"[a-zA-Z][\w-]*(?: [a-z][\w-]*)?", rest)
        if not found:
            continue
        kept = []
        for word in found[0].split():
            if word in STOP or re.search(r"ed$", word):
                break
            kept.append(word)
        phrase = " ".join(kept)
        if phrase and (phrase[0].islower() or len(phrase) <= 2):
            yield _Span(match.end(), match.end() + len(phrase), phrase)


def _fit(asked: Asked, scope: Scope, span: _Span, about: dict[str, str]) -> float | None:
    """How well a span suits the kind of answer; None if it cannot be one."""
    asked_stems = {word.stem for word in (*asked.names, *asked.said)}
    own = set(stems(span.text)) or {span.text.lower()}
    if own <= asked_stems:
        return None
    before, after = scope.text[max(0, span.start - 60) : span.start], scope.text[span.end : span.end + 60]
    fit = -1.0 * len(own & asked_stems) / len(own)
    if asked.kind == "person":
        return _person_fit(asked, span, before, after, about, fit)
    if asked.kind == "place":
        if span.text.lower() in about and _LIFE.search(about[span.text.lower()]):
            return None
        placed = re.search(r"\b(?:in|at|from|near|of|to|into) (?:the )?(?:[\w-]+ (?:town|city|village|port|island) of )?$", before)
        close = any(_sorted(w.stem, before, after, "") for w in asked.said if w.text.lower() in ("capital", "birthplace"))
        sorted_ = bool(asked.sort) and _sorted(asked.sort, before, after, "")
        return fit + 1.5 * bool(placed or close) + sorted_ if placed or close or span.text.lower() in about else None
    if asked.kind == "thing":
        if not asked.sort and not asked.said:
            return None
        sorted_ = _is_sort(asked.sort, span) or _sorted(asked.sort, before, after, about.get(span.text.lower(), ""))
        if (asked.sort in own and span.text.islower()) or (asked.sort and not sorted_ and not (asked.said and _follows(asked, before))):
            return None
        return fit + 1.5 * sorted_
    return fit


def _sorted(sort: str, before: str, after: str, about: str) -> bool:
    """Whether a noun stands right before or behind a span, or in what is said of it."""
    behind = re.match(r" [a-z]\w+|, [^.;]*", after)
    said = re.search(r"\b(?:is|was) (?:an?|the) (.*)", about)
    close = [*words(before)[-2:], *words(behind[0] if behind else "")[:4], *words(said[1] if said else "")[:10]]
    return any(alike(sort, word.stem) >= 0.95 for word in close)


def _is_sort(sort: str, span: _Span) -> bool:
    """Whether a name has the noun in it: Westminster Abbey is an abbey."""
    return any(alike(sort, stem) >= 0.9 for stem in stems(span.text))


def _follows(asked: Asked, before: str) -> bool:
    """Whether a span stands right behind what the question says, as malaria in "died of malaria"."""
    match = re.search(r"(\w+)(?: (?:of|to|the|an?|in|his|her|its|from|into|for|as|metal|mineral|element)){0,2} $", before)
    return match is not None and any(_best(word, words(match[1])) for word in asked.said)


def _person_fit(asked: Asked, span: _Span, before: str, after: str, about: dict[str, str], fit: float) -> float | None:
    opening = about.get(span.text.lower())
    if opening is not None and not _of_person(opening):
        return None
    noun = re.match(r" ([a-z]+)\b", after)
    if " " not in span.text and noun and noun[1] not in STOP and not noun[1].endswith(("ed", "s")):
        return None  # a lone name in front of a noun describes it: Danish film
    if _NO_PERSON.search(span.text) or re.search(r"\b(?:in|at|near|from|into) (?:the )?$", before):
        return None
    full = len(span.text.split()) > 1 and re.fullmatch(r"\D+", span.text) is not None
    known = opening is not None
    by = re.search(r"(\w+) (?:by|under) (?:the )?(?:[\w-]+ ){0,4}$", before)
    made = by is not None and any(_best(word, words(by[1])) for word in asked.said)
    return fit + (0.7 if full else -0.8) + 0.5 * known + 0.7 * made + 0.5 * bool(asked.sort and _sorted(asked.sort, before, "", opening or ""))


def _of_person(opening: str) -> bool:
    """Whether the first sentence of a passage is about a person."""
    said = re.search(r"\b(?:is|was) (?:an?|the) (.*)", opening)
    nouns = [word.text for word in words(said[1])[:8] if word.text != "maker"] if said else []
    return _LIFE.search(opening) is not None or any(is_person(noun) for noun in nouns)


def _nearness(asked: Asked, scope: Scope, span: _Span) -> float:
    """How close the question's words stand to a span; a comma between them is as far as some words."""
    total = 0.0
    names = [(w, 0.2 if _best(w, scope.title) else 3.0) for w in asked.names]
    for asked_word, worth in [*((w, weight(w)) for w in asked.said), *names]:
        best = 0.0
        for word in scope.words:
            if span.start <= word.start < span.end:
                continue
            match = alike(asked_word.stem, word.stem)
            if match:
                between = scope.text[span.end : word.start] if word.start >= span.end else scope.text[word.end : span.start]
                gap = len(between) + 12 * len(re.findall(r"[,;:(]", between))
                if asked.kind == "person" and word.end <= span.start and not re.search(r"\b(?:by|of|under) ", between):
                    gap += 12  # who does something is named before it
                best = max(best, match * worth / (1 + gap / _NEAR))
        total += best
    return total
