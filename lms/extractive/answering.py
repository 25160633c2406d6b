"""Finds the span that answers a question, or none where the passages do not bear the question.

A span is believed only where its sentence, together with the title of its passage, says what the question says: the
names that the question names, and what it asks of them in the same words, in a form of them or in a synonym.
"""

import re
from collections.abc import Sequence

from lms.extractive.passages import NumberedPassage
from lms.extractive.question import Asked, is_person, weight
from lms.extractive.scope import Scope, best_match, follows, has_noun
from lms.extractive.spans import Span, find_spans
from lms.extractive.words import STOP, alike, sentences, stems, words

__all__ = ["best_answer"]

_NO_OCCUPATION = ("member", "winner", "man", "woman", "son", "daughter", "brother", "sister", "wife", "husband")
_NO_PERSON = re.compile(
    r"\b(?:River|Lake|University|College|Bridge|Prize|Award|Observatory|House|Festival|War|Cup|Station|Church|Hill|Sea|"
    r"Cathedral|Ocean|Islands?|Mount|Street|Company|Museum|Academy|Orchestra|Opera|Theatre|Hospital|Institute|Stadium|"
    r"Park|Union|Empire|Republic|Kingdom|States|Games|Olympics?|Championship|League|Party|School|Gulf|Bay|Band)\b"
)
_PEOPLE = re.compile(r"^[A-Z]\w+(?:an|ese|ish|ch|ic)$")
_LIFE = re.compile(r"\bborn\b|\(\s?(?:c\. )?\d{3,4}\s?[–-]")
_PLACED = re.compile(r"\b(?:in|at|from|near|of|to|into) (?:the )?(?:[\w-]+ (?:town|city|village|port|island) of )?$")

# What counts for a span, on one scale with _NEAR; chosen like the thresholds of `scope`.
_SUPPORT = 4.0  # for a sentence that bears the whole question
_SORTED = 1.5  # for a name of the sort that is asked for
_START = 100  # characters of a passage that say whether it is about a person
_CLOSE = 60  # characters around a span that describe it
_NEAR = 12  # characters at which a word of the question counts half
_COMMA = 12  # characters that a comma counts for
_RARE = 3.0  # weight of a name that is not in the title, where others are: it tells one sentence from the next
_KNOWN = 0.2  # weight of a name in the title
_SUBJECT = 1.5  # for a passage about what the question names


def best_answer(asked: Asked, scopes: Sequence[Scope], found: Sequence[NumberedPassage]) -> tuple[str, Scope | None]:
    """The span that answers best, with its sentence; empty and None if none is borne by its sentence.

    Args:
        asked: The question.
        scopes: The sentences to take answers from.
        found: All passages: what they are about says what a name is.
    """
    openings = {p.name.lower(): " ".join(sentences(p.text)[:1]) for p in found if p.name}
    best: tuple[float, str, Scope | None] = 0.0, "", None
    for scope in scopes:
        for span in find_spans(asked, scope.text, scope.passage.name):
            fit = _fit(asked, scope.text, span, openings.get(span.text.lower()))
            borne = None if fit is None else scope.support(asked, span)
            if fit is not None and borne is not None:
                subject = _SUBJECT * (
                    set(stems(scope.passage.name)) <= {word.stem for word in (*asked.names, *asked.said)}
                )
                score = _SUPPORT * borne + fit + _nearness(asked, scope, span) + subject
                best = max(best, (score, span.text, scope), key=lambda each: each[0])
    return best[1:]


def _fit(asked: Asked, text: str, span: Span, opening: str | None) -> float | None:
    """How well a span suits the kind of answer; None if it cannot be one.

    `opening` is the first sentence of the passage about it, if there is one. Words of the question tell nothing new.
    """
    said = {word.stem for word in (*asked.names, *asked.said)}
    own = set(stems(span.text)) or {span.text.lower()}
    before, after = text[max(0, span.start - _CLOSE) : span.start], text[span.end : span.end + _CLOSE]
    if own <= said:
        return None
    fits = {
        "date": _fits_date,
        "occupation": _fits_occupation,
        "person": _fits_person,
        "place": _fits_place,
        "thing": _fits_thing,
    }
    fit = fits[asked.kind](asked, span, before, after, opening) if asked.kind in fits else 0.0
    return None if fit is None else fit - len(own & said) / len(own)


def _fits_occupation(asked: Asked, span: Span, before: str, after: str, opening: str | None) -> float | None:
    noun = span.text.split()[-1]
    return 0.0 if is_person(noun) and noun not in _NO_OCCUPATION else None


def _fits_date(asked: Asked, span: Span, before: str, after: str, opening: str | None) -> float | None:
    """The dates in brackets behind a name are those of birth and death, and no others: (1842–1905)."""
    first, second = re.match(r"\s?[–-]", after), re.search(r"[–-]\s?$", before)
    if not (re.search(r"\([^()]*$", before) and (first or second)):
        return 0.0
    asks = "born" if first else "die"
    return 0.0 if any(alike(word.stem, asks) for word in asked.said) else None


def _fits_place(asked: Asked, span: Span, before: str, after: str, opening: str | None) -> float | None:
    """A place follows a preposition, or the word for what it is: its capital, Kuressaare."""
    if opening is not None and _about_person(opening):
        return None
    named = any(_beside(w.stem, before, after) for w in asked.said if w.text.lower() in ("capital", "birthplace"))
    if not (named or _PLACED.search(before)):
        return None if opening is None else 0.0
    return _SORTED + bool(asked.sort and _beside(asked.sort, before, after))


def _fits_thing(asked: Asked, span: Span, before: str, after: str, opening: str | None) -> float | None:
    """A thing is of the sort that is asked for, if one is; or it follows what is said of it."""
    if not asked.sort:
        near = follows(asked, before) or any(_beside(w.stem, before, after) for w in (asked.key, *asked.said[-1:]) if w)
        return 0.0 if near else None
    if (_PEOPLE.search(span.text) and re.match(r" [a-z]", after)) or (
        span.text.islower() and asked.sort in stems(span.text)
    ):
        return None  # the Japanese studio, a large house
    if has_noun(span, asked.sort) or _beside(asked.sort, before, after) or _is_one(asked.sort, opening):
        return _SORTED
    return 0.0 if asked.said and follows(asked, before) else None


def _fits_person(asked: Asked, span: Span, before: str, after: str, opening: str | None) -> float | None:
    """A person has two names, or is known as one; is named behind "by", or behind the word for what people are."""
    noun = re.match(r" ([a-z]+)\b", after)
    if " " not in span.text and noun and noun[1] not in STOP and not noun[1].endswith(("ed", "s")):
        return None  # a lone name in front of a noun describes it: Danish film
    if (opening is not None and not _about_person(opening)) or _NO_PERSON.search(span.text):
        return None
    lone = " " not in span.text and opening is None
    if re.search(rf"\b(?:in|at|near|from|into{'|of' if lone else ''}) (?:the )?$", before):
        return None
    fit = 0.7 if re.fullmatch(r"\S+ \D+", span.text) else -0.8
    by = re.search(r"(\w+) (?:by|under) (?:the )?(?:[\w-]+ ){0,4}$", before)
    made = by is not None and any(best_match(word.stem, words(by[1])) for word in asked.said)
    sort = asked.sort and (1.2 * _beside(asked.sort, before, "") + 0.5 * _is_one(asked.sort, opening))
    return fit + 0.5 * (opening is not None) + 0.7 * made + (sort or 0.0)


def _beside(noun: str, before: str, after: str) -> bool:
    """Whether a noun, given as a stem, stands right before a span, or behind it: the river Aurach; Toho, the studio."""
    behind = re.match(r" [a-z]\w+|, [^.;]*", after)
    ahead = re.search(r"(\w+),?(?: (?:of|the|called|named)){0,2} $", before)
    close = [*words(ahead[1] if ahead else ""), *words(behind[0] if behind else "")[:4]]
    return best_match(noun, close) >= 0.95


def _is_one(noun: str, opening: str | None) -> bool:
    """Whether a passage says of its subject that it is one of these, given as a stem."""
    said = re.search(r"\b(?:is|was) (?:an?|the) (.*)", opening or "")
    return said is not None and best_match(noun, words(said[1])[:10]) >= 0.95


def _about_person(opening: str) -> bool:
    """Whether the first sentence of a passage is about a person."""
    said = re.search(r"\b(?:is|was) (?:an?|the) (.*)", opening)
    nouns = words(re.split(r" (?:in|of|at|on|from|for|by|that|which|who)\b", said[1])[0] if said else "")
    return _LIFE.search(opening[:_START]) is not None or any(is_person(word.text) for word in nouns)


def _nearness(asked: Asked, scope: Scope, span: Span) -> float:
    """How close the question's words stand to a span; who does something is named before it."""
    wanted = [(word, weight(word)) for word in asked.said]
    known = {word for word in asked.names if best_match(word.stem, scope.title)}
    wanted += [(word, _KNOWN if word in known else _RARE if known else 1.0) for word in asked.names]
    total = 0.0
    for asked_word, worth in wanted:
        near = 0.0
        for word in scope.words:
            match = alike(asked_word.stem, word.stem)
            if not match or span.start <= word.start < span.end:
                continue
            behind = word.end <= span.start
            between = scope.text[word.end : span.start] if behind else scope.text[span.end : word.start]
            gap = len(between) + _COMMA * len(re.findall(r"[,;:(]", between))
            if asked.kind == "person" and behind and not re.search(r"\b(?:by|of|under) ", between):
                gap += _COMMA
            near = max(near, match * worth / (1 + gap / _NEAR))
        total += near
    return total
