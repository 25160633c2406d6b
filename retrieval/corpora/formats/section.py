"""What a document is, and what it is read into."""

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

__all__ = ["Columns", "Document", "Section", "Unreadable"]

logger = logging.getLogger(__name__)


class Unreadable(Exception):
    """Why a document cannot be read, or not further than it was."""


class Columns(NamedTuple):
    """The columns of a table that are used: a name, "" for none, or None to look for a column with a usual name."""

    text: str | None = None
    title: str | None = None
    id: str | None = None


@dataclass
class Document:
    """A file to read.

    Attributes:
        path: Where it is.
        name: What ids and messages call it.
        columns: Which columns to use if it is a table.
        problems: What could not be read as it should be, or was left out.
    """

    path: Path
    name: str
    columns: Columns
    problems: list[str] = field(default_factory=list)

    def tell(self, problem: str) -> None:
        """Note a problem, and log it as a warning. Control characters of the document's are written as escapes."""
        problem = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in problem)
        self.problems.append(problem)
        logger.warning("%s: %s", self.name, problem)


class Section(NamedTuple):
    """A piece of a document that stands by itself: no passage goes over its end.

    Attributes:
        title: What its passages are called.
        text: Paragraphs, one per line.
        id: The id of its first passage, if the document gives one.
        place: Where an id of its own stands, such as "line 7".
    """

    title: str
    text: str
    id: str = ""
    place: str = ""
