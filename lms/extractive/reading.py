"""Finds the sentences that speak of a question, and what they say of it.

There is no model and no knowledge here: the words of the question and of the passages are compared, where rare words
weigh more.
"""

import math
import re
from collections import Counter
from collections.abc import Container
from functools import cached_property
from itertools import dropwhile
from typing import NamedTuple

from lms.extractive.answering import best_answer
from lms.extractive.passages import NumberedPassage
from lms.extractive.question import Asked, take_apart
from lms.extractive.scope import Scope
from lms.extractive.verdicts import choose, holds, options
from lms.extractive.words import NAME, STOP, YEAR, sentences, stems, words

__all__ = ["Reader"]

# Shares and thresholds: round numbers, chosen on other questions than those of the tests; none is critical.
_TITLE_SHARE = 0.5  # how much more a title counts that lies wholly in the question
_HOP_SHARE = 0.75  # of a sentence's score, for the sentences of a passage whose title it names
_BEST = 12  # sentences from which answers are taken
_RELEVANT = 0.6  # of the best passage's score
_NOTED = 5  # sentences that are noted
_ENOUGH = 0.5  # coverage of the question that speaks for a yes


class _Sentence(NamedTuple):
    text: str
    passage: NumberedPassage
    stems: frozenset[str]  # of the sentence and of its title


class Reader:
    """Answers one question from one context; both may be empty.

    Args:
        question: The question.
        found: The passages of the context.
        told: A short answer that somebody else gave, such as a tool; it is believed.
    """

    def __init__(self, question: str, found: list[NumberedPassage], told: str = "") -> None:
        self._told = told
        self.question = " ".join(question.split())
        self.passages = found
        self._asked = self.question.lower()
        self._sentences = [
            _Sentence(text, p, frozenset(stems(f"{p.title} {text}")))
            for p in found
            for text in sentences(p.text) or [p.title]
        ]

    @cached_property
    def options(self) -> list[str]:
        """The two titles or names that the question joins with "or"; empty if it joins none."""
        return options(self.question, self.passages)

    @cached_property
    def asked(self) -> Asked:
        """The question, taken apart."""
        return take_apart(self.question, [p.title for p in self.passages], choice=bool(self.options))

    @cached_property
    def topic(self) -> str:
        """The longest title in the question, else its longest name, else its last content words."""
        titles = [p.name for p in self.passages if p.name and p.name.lower() in self._asked]
        names = [
            " ".join(dropwhile(lambda word: word.lower() in STOP, match[0].split()))  # "Who", "The"
            for match in NAME.finditer(self.question)
        ]
        content = [word for word in re.findall(r"\w+", self.question) if word.lower() not in STOP]
        return max(titles, key=len, default="") or max(names, key=len, default="") or " ".join(content[-3:])

    @cached_property
    def answer(self) -> str:
        """The short answer; empty where the passages do not bear the question."""
        if self._told:
            return self._told
        if self.asked.kind == "choice":
            return choose(self.question, self.options, self.passages)
        if self.asked.kind == "yesno":
            return {True: "yes", False: "no", None: ""}[self._verdict]
        found, _ = self._found
        year = re.search(YEAR, found) if self.asked.kind == "date" and "year" in self._asked else None
        return year[0] if year else found

    @cached_property
    def holds(self) -> bool:
        """Whether the context speaks for a yes; where it does not bear the question, whether it has its words."""
        return (not self.passages or self.coverage > _ENOUGH) if self._verdict is None else self._verdict

    @cached_property
    def coverage(self) -> float:
        """Share of the question's words, by weight, in the best three sentences and their titles; 0 to 1."""
        had = frozenset[str]().union(*(sentence.stems for _, sentence in self._ranked[:3]))
        return self._weigh(had) / self._weigh(self._weights) if self._weights else 0.0

    @property
    def uncovered(self) -> str:
        """The question's words that no passage has."""
        had = frozenset[str]().union(*(sentence.stems for sentence in self._sentences))
        return " ".join(w.text for w in words(self.question) if w.stem in self._weights and w.stem not in had)

    def evidence(self, n: int) -> list[str]:
        """The at most `n` best sentences that share a word with the question, best first."""
        return [sentence.text for score, sentence in self._ranked[:n] if score > 0]

    @property
    def notes(self) -> list[str]:
        """For each numbered passage that has some of the best sentences these, behind its title, in their order. The
        sentence that the answer stands in is among them. Empty if no sentence shares a word with the question."""
        scope = self._found[1]
        read = [s for s in self._sentences if scope and (s.text, s.passage) == (scope.text, scope.passage)]
        best = [*read, *(sentence for score, sentence in self._ranked[:_NOTED] if score > 0)]
        noted = dict.fromkeys(sentence.passage for sentence in best if sentence.passage.number)
        texts = [" ".join(s.text for s in self._sentences if s.passage == p and s in best) for p in noted]
        return [f"{p.title} | {text}" if p.title else text for p, text in zip(noted, texts, strict=True)]

    def relevant(self, *, may_be_none: bool) -> list[int]:
        """Numbers of the passages whose best sentence scores nearly as high as the best of all, in ascending order.

        Args:
            may_be_none: Whether to return none if even the best covers little of the question.
        """
        best: dict[int, float] = {}
        for score, sentence in self._ranked:
            best.setdefault(sentence.passage.number, score)
        top = max(best.values(), default=0.0)
        if may_be_none and self.coverage < _ENOUGH and not self._found[1]:
            return []
        read = self._found[1].passage.number if self._found[1] else 0  # where the answer stands
        return sorted(n for n, score in best.items() if n and (score >= _RELEVANT * top or n == read))

    @property
    def query(self) -> str:
        """The question with the best title that is not in it put in front, for the second hop."""
        titles = [s.passage.name for _, s in self._ranked[:3] if s.passage.name.lower() not in self._asked]
        return " ".join([*titles[:1], self.question])

    @property
    def queries(self) -> list[str]:
        """At most three queries: for each of two options the question without the other; else `query`, the clauses of
        the question if it has several, and the question."""
        if self.options:
            own = {word.lower() for option in self.options for word in re.findall(r"\w+", option)} | STOP
            rest = [word for word in re.findall(r"\w+", self.question) if word.lower() not in own]
            return [" ".join([option, *rest]) for option in self.options]
        clauses = re.split(r",? (?:that|who|which|whose|whom|where) ", self.question)
        parts = [clause for clause in clauses if len(clause.split()) > 3 and len(clauses) > 1]
        return list(dict.fromkeys([self.query, *parts[:2], self.question]))[:3]

    @cached_property
    def _found(self) -> tuple[str, Scope | None]:
        if self.asked.kind in ("choice", "yesno"):
            return "", None
        return best_answer(self.asked, self._scopes, self.passages)

    @cached_property
    def _verdict(self) -> bool | None:
        return holds(self.question, self.asked, self._scopes, self.passages)

    @cached_property
    def _scopes(self) -> list[Scope]:
        """The best sentences, each with the best sentence elsewhere that names its passage."""
        best = [sentence for _, sentence in self._ranked[:_BEST]]
        return [Scope(sentence.text, sentence.passage, self._bridge(sentence, best)) for sentence in best]

    def _bridge(self, to: _Sentence, among: list[_Sentence]) -> str:
        """The first other passage with a good sentence that names the passage of this one; empty if there is none."""
        name = to.passage.name
        if not name or name.lower() in self._asked:
            return ""
        return next(
            (f"{s.passage.title}: {s.passage.text}" for s in among if s.passage != to.passage and name in s.text), ""
        )

    @cached_property
    def _weights(self) -> dict[str, float]:
        """The weights of the question's stems: the fewer passages have a stem, the higher."""
        texts: dict[NumberedPassage, set[str]] = {}
        for sentence in self._sentences:
            texts.setdefault(sentence.passage, set()).update(sentence.stems)
        known = Counter(stem for stems in texts.values() for stem in stems)
        return {s: math.log(1 + (len(texts) + 1) / (known[s] + 0.5)) for s in dict.fromkeys(stems(self.question))}

    @cached_property
    def _ranked(self) -> list[tuple[float, _Sentence]]:
        """Sentences with scores, best first.

        A score is the weight of the question's stems in the sentence or its title, and more if the title lies wholly in
        the question. For the second hop, a passage whose title is not in the question but in a good sentence elsewhere
        gets a share of that sentence's score.
        """
        titles = {p: set(stems(p.title)) for p in self.passages}
        own = []
        for sentence in self._sentences:
            title = titles[sentence.passage]
            whole = _TITLE_SHARE * self._weigh(title) if title <= self._weights.keys() else 0.0
            own.append((self._weigh(sentence.stems) + whole, sentence))
        own.sort(key=lambda pair: -pair[0])
        hops: dict[NumberedPassage, float] = {}
        for score, sentence in own[: 2 * _BEST]:
            for p, title in titles.items():
                if p.name in sentence.text and title and p != sentence.passage and not title <= self._weights.keys():
                    hops.setdefault(p, _HOP_SHARE * score)
        return sorted(((score + hops.get(s.passage, 0.0), s) for score, s in own), key=lambda pair: -pair[0])

    def _weigh(self, stems: Container[str]) -> float:
        """The total weight of the question's stems that are among these; always summed in the question's order."""
        return sum((weight for stem, weight in self._weights.items() if stem in stems), 0.0)
