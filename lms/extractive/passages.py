"""The passages of a context, as a prompt shows them; the names in a passage, and its facts."""

import json
import re
from itertools import pairwise
from typing import NamedTuple

from lms.extractive.words import CALENDAR, DATE, NAME, STOP, sentences

__all__ = ["JOINT", "NumberedPassage", "entities", "passages", "triples"]

JOINT = " ¶ "
"""Between the passages of a text that has several, such as a note."""

_LONGEST = 5000  # characters of a passage that are looked at beside a sentence
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

    @property
    def beginning(self) -> str:
        """As much of the text as is looked at beside a sentence."""
        return self.text[:_LONGEST]

    @property
    def opening(self) -> str:
        """The first sentence."""
        return "".join(sentences(self.beginning)[:1])


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
    parts = [part for line in text.splitlines() for part in sentences(line)]
    return list(dict.fromkeys(match[0] for part in parts for match in _named(part)))


def triples(text: str) -> list[list[str]]:
    """A triple for each name or date of a sentence with a few words between it and the one before.

    The subject is what the sentence begins with: a name, else the first of several lines, which is the title.
    """
    title, *lines = text.splitlines() if "\n" in text else ["", text]
    found = []
    for sentence in (sentence for line in lines for sentence in sentences(line)):
        named = [(match[0], match.start(), match.end()) for match in _named(sentence)]
        if title and named and named[0][1] > len("The "):
            named.insert(0, (title, 0, 0))
        for (_, _, end), (object, begin, _) in pairwise(named):
            relation = " ".join(re.findall(r"[\w’'-]+", sentence[end:begin]))
            if 1 <= len(relation.split()) <= _MOST and relation != "and":
                found.append([named[0][0], relation, object])
    return found


def _named(sentence: str) -> list[re.Match[str]]:
    """The names and dates in a sentence, without days and months."""
    found = re.finditer(f"{DATE.pattern}|{NAME.pattern}", sentence)
    return [match for match in found if match[0].lower() not in STOP and not CALENDAR.fullmatch(match[0])]
