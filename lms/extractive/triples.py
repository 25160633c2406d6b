"""The names in a passage and its facts, as triples: two names or dates of a sentence and the words between them."""

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
    """A triple for any two names or dates that follow each other in a sentence, with a few words between them."""
    found = []
    for line in text.splitlines():
        for sentence in sentences(line):
            named = _named(sentence)
            for (subject, _, end), (object, begin, _) in pairwise(named):
                relation = " ".join(re.findall(r"[\w’'-]+", sentence[end:begin]))
                if _FEWEST <= len(relation.split()) <= _MOST and relation != "and":
                    found.append([subject, relation, object])
    return found


def _named(sentence: str) -> list[tuple[str, int, int]]:
    """The names and dates in a sentence, and where each begins and ends."""
    spans = [(match.start(), match.end()) for match in DATE.finditer(sentence)]
    for match in NAME.finditer(sentence):
        inside = any(begin < match.end() and match.start() < end for begin, end in spans)
        if not inside and match[0].lower() not in STOP and not CALENDAR.fullmatch(match[0]):
            spans.append((match.start(), match.end()))
    return [(sentence[begin:end], begin, end) for begin, end in sorted(spans)]
