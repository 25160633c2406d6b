"""Decides between yes and no and between two options, or declines where the passages do not bear the question."""

import re
from collections.abc import Sequence

from lms.extractive.passages import NumberedPassage
from lms.extractive.question import AUXILIARY, SHARED, Asked
from lms.extractive.scope import Scope
from lms.extractive.words import NAME, NUMBER, YEAR, alike, sentences, stems, words

__all__ = ["choose", "holds", "options"]

_COMPARATIVES = (  # which of two values a comparison wants: (of years or of other numbers, least or most, words)
    ("years", min, r"\b(?:first|older|oldest|earlier|earliest|before|sooner)\b"),
    ("years", max, r"\b(?:later|latest|last|younger|youngest|newer|newest|recent|recently|after)\b"),
    ("numbers", max, r"\b(?:more|most|greater|greatest|larg|big|high|long|tall|deep|heav|wid)(?:i?er|i?est)?\b"),
    ("numbers", min, r"\b(?:fewer|less|least|small|short|low|narrow|light)(?:er|est)?\b"),
)
_COMPARING = "|".join(form for *_, form in _COMPARATIVES)
_OF_DEATH = rf"(?:\bdied\b[^.]*?|\({YEAR}\s?[–-]\s?)({YEAR})"


def options(question: str, found: Sequence[NumberedPassage]) -> list[str]:
    """The two things that the question compares; empty if it compares none.

    They are the two titles or names that it joins with "or", else the two titles that it joins with "and" where it asks
    which one is older, larger and so on.
    """
    plain = re.sub(r"[\"“”]", "", question).rstrip("?. ")
    lower = plain.lower()
    titles = [title for p in found for title in (p.title, p.name) if title]
    named = [title for title in dict.fromkeys(titles) if title.lower() in lower]
    named = [title for title in named if not any(title != other and title in other for other in named)]
    named.sort(key=lambda title: lower.index(title.lower()))
    asks = re.search(r"\b(?:which|who)\b", lower) and re.search(_COMPARING, lower)
    if len(named) == 2:
        between = lower[lower.index(named[0].lower()) + len(named[0]) : lower.index(named[1].lower())]
        if re.search(r"\bor\b", between) or (asks and re.search(r"\band\b", between)):
            return named
    left, _, right = plain.rpartition(" or ")
    left = re.sub(f"^{AUXILIARY} ", "", left.rstrip(", "), flags=re.I)
    right = re.sub("^(?:the|an?) ", "", right)
    first = [title for title in titles if left.lower().endswith(title.lower())]
    first += [match[0] for match in NAME.finditer(left) if match.end() == len(left)]
    second = [title for title in titles if right.lower().startswith(title.lower())]
    second += [match[0] for match in [NAME.match(right)] if match]
    return [max(first, key=len), max(second, key=len)] if first and second else []


def choose(question: str, two: Sequence[str], found: Sequence[NumberedPassage]) -> str:
    """The option that wins the comparison by a value of its passage; empty if a value is missing.

    A year is that of death if the question is about that, else the first. Another number is the one that stands closest
    to what is compared.
    """
    asked = question.lower()
    texts = [next((p.text for p in found if _about(p, option)), "") for option in two]
    for what, pick, form in _COMPARATIVES:
        compared = re.search(form, asked)
        if compared:
            values = [
                _year(text, asked) if what == "years" else _number(text, _without(asked[compared.start() :], two))
                for text in texts
            ]
            known = [value for value in values if value is not None]
            return two[values.index(pick(known))] if len(known) == len(values) and known[0] != known[1] else ""
    return ""


def _without(compared: str, two: Sequence[str]) -> str:
    """The words of a comparison without its options."""
    own = {stem for option in two for stem in stems(option)}
    return " ".join(word.text for word in words(compared) if word.stem not in own)


def _year(text: str, asked: str) -> float | None:
    died = re.search(_OF_DEATH, text) if re.search(r"\b(?:die|died|dead|death)\b", asked) else None
    year = died[1] if died else next(iter(re.findall(YEAR, text)), None)
    return float(year) if year else None


def _number(text: str, compared: str) -> float | None:
    """The number in a text that stands closest to the words that name what is compared."""
    keys = [word for word in words(compared)[:6] if stems(word.text)]
    keys = [key._replace(stem=re.sub(r"i?er$|i?est$", "", key.text)) if key.start == 0 else key for key in keys]
    best: tuple[int, float] | None = None
    for match in NUMBER.finditer(text):
        digits = re.match(r"\d[\d,]*(?:\.\d+)?", match[0])
        if digits is None or re.fullmatch(YEAR, match[0]):
            continue
        gaps = [
            min(abs(w.start - match.end()), abs(match.start() - w.end))
            for w in words(text)
            for key in keys
            if alike(key.stem, w.stem)
        ]
        if gaps and (best is None or min(gaps) < best[0]):
            best = min(gaps), float(digits[0].replace(",", ""))
    return best[1] if best else None


def holds(question: str, asked: Asked, scopes: Sequence[Scope], found: Sequence[NumberedPassage]) -> bool | None:
    """Whether the passages speak for a yes; None where they do not bear the question.

    - Of two things with "same": whether what is said of both, in the question's words, names the same.
    - Of two things with "both": whether the passage of each has the rest of the question.
    - Else: yes if a sentence bears the whole question; no if one bears what is said of its subject, but not all of it.
    """
    lower = question.lower()
    if re.search(SHARED, lower):
        named = sorted(
            (p for p in found if p.name and p.name.lower() in lower), key=lambda p: lower.index(p.name.lower())
        )
        return _shared(lower, asked, named[0], named[-1]) if len(named) > 1 else None
    verdicts = [scope.bears(asked) for scope in scopes]
    return None if all(verdict is None for verdict in verdicts) else any(verdicts)


def _shared(lower: str, asked: Asked, one: NumberedPassage, other: NumberedPassage) -> bool | None:
    own, asks = set(stems(f"{one.name} {other.name}")), set(stems(lower))
    said = [word.stem for word in asked.said if word.stem not in own and word.text.lower() not in ("same", "both")]
    if not re.search(r"\bsame\b", lower):
        rest = [word.stem for word in (*asked.names, *asked.said) if word.stem not in own]
        has = [any(alike(stem, word.stem) for word in words(p.text)) for p in (one, other) for stem in rest]
        return all(has) if has else None
    told = [_told(p, said, dates=re.search(r"\byear\b", lower) is not None) - asks for p in (one, other)]
    return bool(told[0] & told[1]) if all(told) else None


def _told(passage: NumberedPassage, said: Sequence[str], *, dates: bool) -> set[str]:
    """The names, or the years, in the sentences of a passage that have a word of what is asked, else in the first."""
    parts = sentences(passage.text)
    fitting = [part for part in parts if any(alike(stem, word.stem) for stem in said for word in words(part))]
    text = " ".join(fitting or parts[:1])
    return (
        set(re.findall(YEAR, text))
        if dates
        else {
            stem
            for match in NAME.finditer(text)
            if not re.match(" [a-z]{4,}", text[match.end() :])
            for stem in stems(match[0])
        }
    )


def _about(passage: NumberedPassage, option: str) -> bool:
    return bool(passage.title) and (option.lower() in passage.title.lower() or passage.name.lower() in option.lower())
