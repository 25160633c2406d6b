"""A sentence with its surroundings, and how much of a question it bears."""

import re
from collections.abc import Sequence
from functools import cached_property

from lms.extractive.passages import NumberedPassage
from lms.extractive.question import Asked, weight
from lms.extractive.spans import Span
from lms.extractive.words import Word, alike, sentences, stems, words

__all__ = ["Scope", "best_match", "follows", "has_noun"]

# Thresholds: round numbers, chosen on questions that are in no test; see benchmarks/extractive_reader.py.
_NAMED = 0.75  # share of the question's names that must be there
_SAID = 0.6  # share of its other words
_MANY = 0.7  # the same, of more words than three
_HERE = 0.9  # what a word or a synonym in the sentence itself is worth at least
_BRIDGED = 0.95  # worth of a word in the passage that names this one
_ELSEWHERE = 0.6  # worth of a name that stands elsewhere in the passage
_DESCRIBED = 0.7  # worth of a word that describes the passage's subject in its first sentence
_LEAST = 3  # words that must all be met where the question names nothing
_CREATE = ("write", "direct", "compos")
_WORK = r"(?:novel|book|story|stories|play|poem|film|song|opera|painting|work|album)s?"
_LONGEST = 5000  # characters of a passage that are looked at around a sentence


class Scope:
    """A sentence with its surroundings: the title and the opening of its passage, the passage that leads to it.

    Args:
        text: The sentence.
        passage: Its passage.
        bridge: Title and text of another passage, which has words of the question and names this one; else empty.
    """

    def __init__(self, text: str, passage: NumberedPassage, bridge: str = "") -> None:
        self.text = text
        self.passage = passage
        self.words = words(text)
        self._bridge = bridge
        self._around: dict[Word, tuple[float, float, float]] = {}

    @cached_property
    def title(self) -> list[Word]:
        """The words of the passage's title."""
        return words(self.passage.title)

    def support(self, asked: Asked, span: Span) -> float | None:
        """How much of the question the sentence bears beside a span, from 0 to 1; None if that is too little."""
        names = [self._met(word, name=True, beside=span) for word in asked.names]
        said = [(self._implied(asked, span, word) or self._met(word, beside=span), weight(word)) for word in asked.said]
        if asked.sort and asked.kind in ("person", "place", "thing"):
            sort = 1.0 if has_noun(span, asked.sort) else best_match(asked.sort, self.words)
            if sort or not (asked.kind == "place" or follows(asked, self.text[: span.start])):
                said.append(((sort, sort >= _HERE), 1.0))
        named = sum(worth for worth, _ in names) / len(names) if names else 1.0
        told = sum(worth * share for (worth, _), share in said) / sum(share for _, share in said) if said else 1.0
        if names and (named < _NAMED or not any(here for _, here in names)):
            return None
        if said and (told < (_SAID if len(said) <= _LEAST else _MANY) or not any(here for (_, here), _ in said)):
            return None
        if asked.key and not (self._implied(asked, span, asked.key) or self._met(asked.key, beside=span))[1]:
            return None
        if not names and (len(said) < _LEAST or not all(here for (_, here), _ in said)):
            return None
        return (named + told) / 2

    def bears(self, asked: Asked) -> bool | None:
        """Whether the sentence bears a question for yes or no; None if it is about something else.

        It bears all of it, or what is said of its subject but not all of the rest: then the answer is no.
        """
        told = [*self.words, *self.title]
        names = [best_match(word.stem, told) == 1 for word in asked.names]
        said = [self._met(word) for word in asked.said]
        if not any(best_match(word.stem, self.title) for word in asked.names):
            return None
        if all(names) and all(worth >= _DESCRIBED for worth, _ in said):
            return True
        return False if any(here for _, here in said) else None

    def _met(self, word: Word, *, name: bool = False, beside: Span | None = None) -> tuple[float, bool]:
        """How well a word of the question is met, from 0 to 1, and whether the sentence or what leads to it does."""
        own = [w for w in self.words if beside is None or w.end <= beside.start or w.start >= beside.end]
        here = best_match(word.stem, own)
        if word not in self._around:
            text = self.passage.text[:_LONGEST]
            away = _ELSEWHERE * best_match(word.stem, words(text)) if name else 0.0
            opening = 0.0 if name else _DESCRIBED * best_match(word.stem, words(" ".join(sentences(text)[:1])))
            bridge = _BRIDGED * best_match(word.stem, words(self._bridge[:_LONGEST]))
            self._around[word] = best_match(word.stem, self.title), bridge, max(away, opening)
        title, bridge, away = self._around[word]
        return max(here, title, bridge, away), max(here, bridge, title if name else 0.0) >= _HERE

    def _implied(self, asked: Asked, span: Span, word: Word) -> tuple[float, bool] | None:
        """What the form of the sentence says in place of a word; None if it says nothing.

        Dates in brackets are those of birth and death: (1842–1905). What a possessive pronoun counts was made by
        someone or belongs to someone: his nine symphonies. A novel by someone, or his novels, were written by him.
        """
        before, after = self.text[: span.start], self.text[span.end : span.end + 3]
        if asked.kind == "number" and re.search(r"\b(?:his|her|its|their) $", before.lower()):
            return _HERE, True
        if asked.kind == "date" and re.search(r"\([^()]*$", before):
            born = alike(word.stem, "born") and re.match(r"\s?[–-]", after)
            died = alike(word.stem, "die") and re.search(r"[–-]\s?$", before) and after.startswith(")")
            return (1.0, True) if born or died else None
        if asked.kind == "person" and any(alike(word.stem, stem) for stem in _CREATE):
            by = re.search(rf"\b{_WORK}\b.*\bby (?:the )?(?:[\w-]+ ){{0,4}}$", before)
            own = re.match(rf"(?:his|her)(?: \w+)? {_WORK}\b", self.text[span.start :].lower())
            return (_HERE, True) if by or own else None
        return None


def best_match(stem: str, among: Sequence[Word]) -> float:
    """How well the best of some words matches a stem, from 0 to 1."""
    return max((alike(stem, other.stem) for other in among), default=0.0)


def follows(asked: Asked, before: str) -> bool:
    """Whether a span stands right behind the verb of the question, as malaria in "died of malaria"."""
    match = re.search(r"(\w+)(?: (?:of|to|the|an?|his|her|its|as)){0,2} $", before[-60:])
    return match is not None and any(
        best_match(word.stem, words(match[1])) for word in (asked.key, *asked.said[-1:]) if word
    )


def has_noun(span: Span, noun: str) -> bool:
    """Whether a name has the noun in it, given as a stem: Westminster Abbey is an abbey."""
    return any(alike(noun, stem) >= _HERE for stem in stems(span.text))
