"""Reads a context for a question: ranks its sentences by the words that they share, where rare words weigh more."""

import math
import re
from collections import Counter
from collections.abc import Container
from functools import cached_property
from itertools import dropwhile

from lms.extractive.answering import Sentence, best_answer
from lms.extractive.passages import NumberedPassage
from lms.extractive.question import take_apart
from lms.extractive.verdicts import choose, holds, options
from lms.extractive.words import NAME, STOP, YEAR, sentences, stems, words

__all__ = ["Reader"]

_TITLE_SHARE = 0.5  # how much more a title counts that lies wholly in the question
_HOP_SHARE = 0.75  # of a sentence's score, for the sentences of a passage whose title it names
_BEST = 12  # sentences from which answers are taken
_RELEVANT = 0.6  # of the best passage's score
_NOTED = 5  # sentences that are noted
_ENOUGH = 0.5  # coverage of the question that speaks for a yes


class Reader:
    """Answers one question from one context; both may be empty.

    Attributes:
        question: The question, taken apart.
        passages: The passages of the context.
        answer: The short answer; empty where the passages do not bear the question.
        holds: Whether the context speaks for a yes; where it does not bear the question, whether it has its words.
        coverage: Share of the question's words, by weight, in the best three sentences and their titles; 0 to 1.
        uncovered: The question's words that no passage has.
        topic: The longest title in the question, else its longest name, else its last content words.
    """

    def __init__(self, question: str, found: list[NumberedPassage], told: str = "") -> None:
        """`told` is a short answer that somebody else gave, such as a tool; it is believed."""
        question = " ".join(question.split())
        self.passages, self._told = found, told
        self._options = options(question, found)
        self.question = take_apart(question, [p.title for p in found], choice=bool(self._options))
        self._sentences = [Sentence(self.question, text, p) for p in found for text in sentences(p.text) or [p.title]]
        had: dict[NumberedPassage, set[str]] = {}
        for sentence in self._sentences:
            had.setdefault(sentence.passage, set()).update(sentence.stems)
        known = Counter(stem for own in had.values() for stem in own)
        asked = dict.fromkeys(stems(question))  # the fewer passages have a stem, the more it weighs
        self._weights = {stem: math.log(1 + (len(had) + 1) / (known[stem] + 0.5)) for stem in asked}
        self._ranked = self._rank()
        self._best = [sentence for _, sentence in self._ranked[:_BEST]]
        shown = frozenset[str]().union(*(sentence.stems for sentence in self._best[:3]))
        self.coverage = self._weigh(shown) / self._weigh(self._weights) if self._weights else 0.0
        self.uncovered = " ".join(w.text for w in words(question) if w.stem in self._weights.keys() - known)

    def _rank(self) -> list[tuple[float, Sentence]]:
        """Sentences with scores, best first.

        A score is the weight of the question's stems in the sentence or its title, and more if the title lies wholly in
        the question. For the second hop, a passage that is not named in the question but in a good sentence elsewhere
        gets a share of that sentence's score, and that sentence's passage as its lead.
        """
        titles = {p: set(stems(p.title)) for p in self.passages}
        whole = {p: self._weigh(title) if title <= self._weights.keys() else 0.0 for p, title in titles.items()}
        own = [(self._weigh(s.stems) + _TITLE_SHARE * whole[s.passage], s) for s in self._sentences]
        own.sort(key=lambda pair: -pair[0])
        unnamed = [p for p, title in titles.items() if p.name and not title <= self._weights.keys()]
        leads: dict[NumberedPassage, tuple[float, NumberedPassage]] = {}
        for score, sentence in own[: 2 * _BEST]:
            for p in unnamed:
                if p.name in sentence.text and p != sentence.passage:
                    leads.setdefault(p, (_HOP_SHARE * score, sentence.passage))
        ranked = []
        for score, sentence in own:
            more, lead = leads.get(sentence.passage, (0.0, None))
            sentence.lead = None if sentence.passage.name.lower() in self.question.text.lower() else lead
            ranked.append((score + more, sentence))
        return sorted(ranked, key=lambda pair: -pair[0])

    def _weigh(self, stems: Container[str]) -> float:
        """The total weight of the question's stems that are among these; always summed in the question's order."""
        return sum((weight for stem, weight in self._weights.items() if stem in stems), 0.0)

    @cached_property
    def answer(self) -> str:
        if self._told:
            return self._told
        if self.question.kind == "choice":
            return choose(self.question.text, self._options, self.passages)
        if self.question.kind == "yesno":
            return {True: "yes", False: "no", None: ""}[self._verdict]
        text, _ = self._found
        year = re.search(YEAR, text) if self.question.kind == "date" and "year" in self.question.text.lower() else None
        return year[0] if year else text

    @cached_property
    def _found(self) -> tuple[str, Sentence | None]:
        """The span that answers, with the sentence that it stands in."""
        spans = self.question.kind not in ("choice", "yesno")
        return best_answer(self.question, self._best, self.passages) if spans else ("", None)

    @cached_property
    def _verdict(self) -> bool | None:
        return holds(self.question, self._best, self.passages)

    @property
    def holds(self) -> bool:
        return (not self.passages or self.coverage > _ENOUGH) if self._verdict is None else self._verdict

    @property
    def topic(self) -> str:
        text = self.question.text
        titles = [p.name for p in self.passages if p.name and p.name.lower() in text.lower()]
        names = [" ".join(dropwhile(lambda w: w.lower() in STOP, m[0].split())) for m in NAME.finditer(text)]
        return max(titles, key=len, default="") or max(names, key=len, default="") or " ".join(_content(text)[-3:])

    def evidence(self, n: int) -> list[str]:
        """The at most `n` best sentences that share a word with the question, best first."""
        return [sentence.text for score, sentence in self._ranked[:n] if score > 0]

    def notes(self) -> list[str]:
        """For each numbered passage that has some of the best sentences these, behind its title, in their order. The
        sentence that the answer stands in is among them. Empty if no sentence shares a word with the question."""
        best = [s for s in [self._found[1]] if s] + [s for score, s in self._ranked[:_NOTED] if score > 0]
        noted = dict.fromkeys(sentence.passage for sentence in best if sentence.passage.number)
        texts = [" ".join(s.text for s in self._sentences if s.passage == p and s in best) for p in noted]
        return [f"{p.title} | {text}" if p.title else text for p, text in zip(noted, texts, strict=True)]

    def relevant(self, *, may_be_none: bool) -> list[int]:
        """Numbers of the passages whose best sentence scores nearly as high as the best of all, in ascending order;
        none if that may be, there is no answer, and even the best cover little of the question."""
        best: dict[int, float] = {}
        for score, sentence in self._ranked:
            best.setdefault(sentence.passage.number, score)
        _, read = self._found
        if may_be_none and self.coverage < _ENOUGH and not read:
            return []
        least = _RELEVANT * max(best.values(), default=0.0)
        return sorted(n for n, score in best.items() if n and (score >= least or (read and n == read.passage.number)))

    def queries(self) -> list[str]:
        """At most three queries, the best one first.

        They are for each of two options the question without the other; else the question with the best title that is
        not in it put in front, for the second hop, the clauses of the question if it has several, and the question.
        """
        text = self.question.text
        if self._options:
            own = {word.lower() for option in self._options for word in re.findall(r"\w+", option)}
            return [
                " ".join([option, *(w for w in _content(text) if w.lower() not in own)]) for option in self._options
            ]
        named = (s.passage.name for s in self._best[:3] if s.passage.name.lower() not in text.lower())
        clauses = re.split(r",? (?:that|who|which|whose|whom|where) ", text)
        parts = [clause for clause in clauses if len(clause.split()) > 3 and len(clauses) > 1]
        return list(dict.fromkeys([f"{next(named, '')} {text}".strip(), *parts[:2], text]))[:3]


def _content(text: str) -> list[str]:
    """The content words of a text, as written."""
    return [word for word in re.findall(r"\w+", text) if word.lower() not in STOP]
