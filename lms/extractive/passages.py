"""The passages of a context, as a prompt shows them."""

import json
import re
from typing import NamedTuple

__all__ = ["JOINT", "NumberedPassage", "passages"]

JOINT = " ¶ "
"""Between the passages of a text that has several, such as a note."""


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
    parts = [(number, part) for number, line in found for part in " ".join(line.split()).split(JOINT)]
    split = [(number, part.partition(" | ")) for number, part in parts]
    return [
        NumberedPassage(number, title if bar else "", text if bar else title) for number, (title, bar, text) in split
    ]
