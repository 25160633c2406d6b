"""Reads a context for a question: ranks its sentences by the words that they share, where rare words weigh more; takes
the best span, decides between yes and no or between two options, or declines."""

import math
import re
from collections import Counter
from collections.abc import Container, Sequence
from functools import cached_property
from itertools import dropwhile

from lms.extractive.answering import Sentence, best_answer
from lms.extractive.passages import NumberedPassage
from lms.extractive.question import SHARED, Question, take_apart
from lms.extractive.words import NAME, NUMBER, STOP, YEAR, alike, sentences, stems, words

__all__ = ["Reader"]

_TITLE_SHARE = 0.5  # how much more a title counts that lies wholly in the question
_HOP_SHARE = 0.75  # of a sentence's score, for the sentences of a passage whose title it names
_BEST = 12  # sentences from which answers are taken
_RELEVANT = 0.6  # of the best passage's score
_NOTED = 5  # sentences that are noted
_ENOUGH = 0.5  # coverage of the question that speaks for a yes
_COMPARATIVES = (  # whether of years, which of two values is wanted, by which words
    (True, min, r"\b(?:first|old|early|earli|before|soon)(?:er|est)?\b"),
    (True, max, r"\b(?:lat|last|young|new|recent|after)(?:er|est|ly)?\b"),
    (False, max, r"\b(?:more|most|great|larg|big|high|long|tall|deep|heav|wid)(?:i?er|i?est)?\b"),
    (False, min, r"\b(?:fewer|less|least|small|short|low|narrow|light)(?:er|est)?\b"),
)
_OF_DEATH = rf"(?:\bdied\b[^.]*?|\({YEAR}\s?[–-]\s?)({YEAR})"


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
        self._options = _options(question, found)
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
            return _choose(self.question.text, self._options, self.passages)
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
        return _holds(self.question, self._best, self.passages)

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


def _options(question: str, found: Sequence[NumberedPassage]) -> list[str]:
    """The two things that the question compares; empty if it compares none.

    They are the titles, else the names, next to "or"; to "and" where it asks which one is older, larger and so on.
    """
    plain = re.sub(r"[\"“”]", "", question).rstrip("?. ")
    left, joined, right = plain.rpartition(" or ")
    asks = re.search(r"\b(?:which|who)\b", plain, re.I)
    if not joined and asks and any(re.search(form, plain, re.I) for *_, form in _COMPARATIVES):
        left, joined, right = plain.partition(" and ")
    two = []
    for side, pick in ((left if joined else "", max), (right, min)):
        titles = [title for p in found for title in (p.title, p.name) if title and title.lower() in side.lower()]
        named = [(side.lower().index(title.lower()), title) for title in titles]
        named = named or [(m.start(), m[0]) for m in NAME.finditer(side) if m.start() or pick is min]
        nearest = pick((at for at, _ in named), default=0)
        two += sorted((name for at, name in named if at == nearest), key=len)[-1:]
    return two if len(two) == 2 else []


def _choose(question: str, two: Sequence[str], found: Sequence[NumberedPassage]) -> str:
    """The option that wins the comparison by a value of its passage; empty if a value is missing.

    A year is that of death if the question is about that, else the first. Another number is the one that stands closest
    to what is compared.
    """
    asked, own = question.lower(), {stem for one in two for stem in stems(one)}
    about = [[p for p in found if p.name and (one.lower() in p.title.lower() or p.name in one)] for one in two]
    texts = [passages[0].beginning if passages else "" for passages in about]
    for of_years, pick, form in _COMPARATIVES:
        if compared := re.search(form, asked):
            keys = [re.sub(r"i?er$|i?est$", "", compared[0])]
            keys += [w.stem for w in words(asked[compared.end() :])[:5] if stems(w.text) and w.stem not in own]
            values = [_year(text, asked) if of_years else _number(text, keys) for text in texts]
            known = [value for value in values if value is not None]
            return two[values.index(pick(known))] if len(known) == 2 and known[0] != known[1] else ""
    return ""


def _holds(question: Question, ranked: Sequence[Sentence], found: Sequence[NumberedPassage]) -> bool | None:
    """Whether the passages speak for a yes; None where they do not bear the question.

    Of two things with "same" or "both": whether the sentences about each, with the question's words, name the same, or
    all of the question's rest. Else yes if a sentence bears the whole question; no if one bears what is said of its
    subject, but not all of it.
    """
    lower = question.text.lower()
    if not re.search(SHARED, lower):
        verdicts = [sentence.bears() for sentence in ranked]
        return None if all(verdict is None for verdict in verdicts) else any(verdicts)
    named = sorted((p for p in found if p.name and p.name.lower() in lower), key=lambda p: lower.index(p.name.lower()))
    if len(named) < 2:
        return None
    two = (named[0], named[-1])
    own = {*stems(f"{two[0].name} {two[1].name}"), "same", "both"}
    said = [word.stem for word in question.said if word.stem not in own]
    if not re.search(r"\bsame\b", lower):
        rest = [*said, *(word.stem for word in question.names if word.stem not in own)]
        return all(any(alike(stem, w.stem) for w in words(p.beginning)) for p in two for stem in rest)
    told = []
    for p in two:
        parts = sentences(p.beginning)
        fitting = [part for part in parts if any(alike(stem, word.stem) for stem in said for word in words(part))]
        text = " ".join(fitting or parts[:1])
        names = stems(" ".join(match[0] for match in NAME.finditer(text)))
        told.append(set(re.findall(YEAR, text) if "year" in lower else names) - set(stems(lower)))
    return bool(told[0] & told[1]) if all(told) else None


def _year(text: str, asked: str) -> float | None:
    died = re.search(_OF_DEATH, text) if re.search(r"\b(?:die|died|dead|death)\b", asked) else None
    year = died[1] if died else next(iter(re.findall(YEAR, text)), None)
    return float(year) if year else None


def _number(text: str, keys: Sequence[str]) -> float | None:
    """The number in a text that stands closest to the words that name what is compared."""
    near = [word for word in words(text) if any(alike(key, word.stem) for key in keys)]
    best: list[tuple[int, float]] = []
    for match in NUMBER.finditer(text):
        digits = re.match(r"\d[\d,]*(?:\.\d+)?", match[0])
        if digits and near and not re.fullmatch(YEAR, match[0]):
            gap = min(min(abs(word.start - match.end()), abs(match.start() - word.end)) for word in near)
            best.append((gap, float(digits[0].replace(",", ""))))
    return min(best, default=(0, None))[1]
