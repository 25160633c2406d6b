"""The passages of a context, as a prompt shows them; the names in a passage, and its facts."""

import json
import re
from itertools import pairwise
from typing import NamedTuple

from lms.extractive.words import CALENDAR, DATE, NAME, STOP, sentences

__all__ = ["JOINT", "NumberedPassage", "entities", "passages", "triples"]

JOINT = " ¶ "
"""Between the passages of a text that has several, such as a note."""

_MOST = 8  # words between two names of a fact


class NumberedPassage(NamedTuple):
    """One passage of the context, with the number that it is shown with; 0 if it has none."""

    number: int
    title: str
    text: str

    @property
    def name(self) -> str:
        """The title without the brackets at its end."""
        return re.sub(r" \([^()]*\)$", "", self.title)


def passages(text: str) -> list[NumberedPassage]:
    """The passages of a context.

    They are its lines ``[1] Title | text``, as `retrieval.number` writes them; if it has none, the items of a JSON
    list; else one for each line. A line that joins several stands for all of them, with the same number.
    """
    found = [(int(number), line) for number, line in re.findall(r"(?m)^\[(\d{1,9})\] (.*\S.*)$", text)]
    if not found:
        try:
            items = json.loads(text) if text.startswith("[") else []
        except (ValueError, RecursionError):
            items = []
        found = list(enumerate((str(item) for item in items or text.splitlines() if str(item).strip()), 1))
    parts = [(number, part.partition(" | ")) for number, line in found for part in " ".join(line.split()).split(JOINT)]
    return [NumberedPassage(n, title if bar else "", text if bar else title) for n, (title, bar, text) in parts]


def entities(text: str) -> list[str]:
    """The names and the dates of a text, each once."""
    found = (name[0] for line in text.splitlines() for part in sentences(line) for name in _named(part))
    return list(dict.fromkeys(found))


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
            if 1 <= len(relation.split()) <= _MOST and relation != "and":
                found.append([named[0][0], relation, object])
    return found


def _named(sentence: str) -> list[tuple[str, int, int]]:
    """The names and dates in a sentence, and where each begins and ends."""
    dates = [(match.start(), match.end()) for match in DATE.finditer(sentence)]
    names = [(m.start(), m.end()) for m in NAME.finditer(sentence) if m[0].lower() not in STOP]
    free = [
        (a, b) for a, b in names if not any(c < b and a < d for c, d in dates) and not CALENDAR.fullmatch(sentence[a:b])
    ]
    return [(sentence[begin:end], begin, end) for begin, end in sorted([*dates, *free])]
