"""The names in a passage and its facts, as triples: what a sentence is about, some words, and a name or date in it."""

import re
from itertools import pairwise

from lms.extractive.words import CALENDAR, DATE, NAME, STOP, sentences

__all__ = ["entities", "triples"]

_FEWEST, _MOST = 1, 8  # words between two names


def entities(text: str) -> list[str]:
    """The names and the dates of a text, each once."""
    return list(
        dict.fromkeys(name for line in text.splitlines() for part in sentences(line) for name, *_ in _named(part))
    )


def triples(text: str) -> list[list[str]]:
    """A triple for each name or date of a sentence with a few words between it and the one before.

    The subject is what the sentence begins with: a name, else the first of several lines, which is the title.
    """
    title, *lines = text.splitlines() if "\n" in text else ["", text]
    found = []
    for sentence in (sentence for line in lines for sentence in sentences(line)):
        named = _named(sentence)
        if title and named and named[0][1] > len("The "):
            named.insert(0, (title, 0, 0))
        for (_, _, end), (object, begin, _) in pairwise(named):
            relation = " ".join(re.findall(r"[\w’'-]+", sentence[end:begin]))
            if _FEWEST <= len(relation.split()) <= _MOST and relation != "and":
                found.append([named[0][0], relation, object])
    return found


def _named(sentence: str) -> list[tuple[str, int, int]]:
    """The names and dates in a sentence, and where each begins and ends."""
    spans = [(match.start(), match.end()) for match in DATE.finditer(sentence)]
    for match in NAME.finditer(sentence):
        inside = any(begin < match.end() and match.start() < end for begin, end in spans)
        if not inside and match[0].lower() not in STOP and not CALENDAR.fullmatch(match[0]):
            spans.append((match.start(), match.end()))
    return [(sentence[begin:end], begin, end) for begin, end in sorted(spans)]
