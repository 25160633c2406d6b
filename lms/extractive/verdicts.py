"""Decides between yes and no and between two options, or declines where the passages do not bear the question."""

import re
from collections.abc import Sequence

from lms.extractive.answering import Sentence
from lms.extractive.passages import NumberedPassage
from lms.extractive.question import SHARED, Question
from lms.extractive.words import NAME, NUMBER, YEAR, alike, sentences, stems, words

__all__ = ["choose", "holds", "options"]

_COMPARATIVES = (  # whether of years, which of two values is wanted, by which words
    (True, min, r"\b(?:first|old|early|earli|before|soon)(?:er|est)?\b"),
    (True, max, r"\b(?:lat|last|young|new|recent|after)(?:er|est|ly)?\b"),
    (False, max, r"\b(?:more|most|great|larg|big|high|long|tall|deep|heav|wid)(?:i?er|i?est)?\b"),
    (False, min, r"\b(?:fewer|less|least|small|short|low|narrow|light)(?:er|est)?\b"),
)
_OF_DEATH = rf"(?:\bdied\b[^.]*?|\({YEAR}\s?[–-]\s?)({YEAR})"


def options(question: str, found: Sequence[NumberedPassage]) -> list[str]:
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


def choose(question: str, two: Sequence[str], found: Sequence[NumberedPassage]) -> str:
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


def holds(question: Question, ranked: Sequence[Sentence], found: Sequence[NumberedPassage]) -> bool | None:
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
