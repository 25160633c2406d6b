"""An answer as a chat shows it: with numbers for its sources, and the list of these, since clients differ."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from programs.instruments.live import PassageShown, Source
from programs.instruments.words import line
from programs.serving.records import Record

__all__ = ["Cited", "address", "cited", "sources"]


class Citation(NamedTuple):
    """A source's number in the text of an answer."""

    start: int
    """Where in the text; likewise `end`."""
    end: int
    passage: PassageShown

    @property
    def url(self) -> str | None:
        """As `address`."""
        return address(self.passage)

    @property
    def annotation(self) -> dict[str, Any]:
        """The citation as /v1/responses has it."""
        if self.url:
            place = {"start_index": self.start, "end_index": self.end}
            return {"type": "url_citation", **place, "title": self.title, "url": self.url}
        return {"type": "file_citation", "file_id": self.passage.id, "filename": self.title, "index": self.start}

    @property
    def title(self) -> str:
        """On one line."""
        return line(self.passage.title or self.passage.id)


class Cited(NamedTuple):
    """The text of an answer, and its citations."""

    text: str
    citations: Sequence[Citation]

    def after(self, written: str) -> str:
        """What of the text is to be said after what was told of it while it was written: the rest; or all of it, in a
        paragraph of its own, where more was made of the answer than what the LM wrote."""
        return self.text.removeprefix(written) if self.text.startswith(written) else f"\n\n{self.text}"


def cited(record: Record) -> Cited:
    """The answer with its sources, which are the passages that say it; or the note that there is none."""
    if not record.answer:
        return Cited(record.note or "no answer", ())
    text = record.answer
    citations = []
    for number, passage in enumerate(sources(record), 1):
        start = len(text) + (number == 1)
        text += f"{' ' * (number == 1)}[{number}]"
        citations.append(Citation(start, len(text), passage))
    if citations:
        text += "\n\nSources:"
        for number, citation in enumerate(citations, 1):
            text += f"\n[{number}] {citation.title}{f' {citation.url}' if citation.url else ''}"
    return Cited(text, citations)


def sources(record: Record, *, supporting: bool = True) -> list[PassageShown]:
    """The passages that say the answer; else those that the answering call was only shown."""
    steps = [step for step in record.steps if isinstance(step, Source) and step.supports == supporting]
    return [record.passages[step.passage] for step in steps]


def address(passage: PassageShown) -> str | None:
    """The address of a passage whose id is one."""
    return passage.id if re.fullmatch(r"https?://\S+", passage.id) else None
