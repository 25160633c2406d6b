"""An answer as a chat shows it: with numbers for its sources, and the list of these, since clients differ."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from odqa.printable import printable
from programs.instruments.trace import Dropped, Query, Statement, Turn
from programs.serving.live import AloneQuestion, Asked, Passages, PassageShown, Source, Spending, Step
from programs.serving.records import Record

__all__ = ["Cited", "Words", "address", "cited", "sources"]


_NAMED = 3  # titles of passages that were dropped for the same reason


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
        return _line(self.passage.title or self.passage.id)


class Cited(NamedTuple):
    """The text of an answer, and its citations."""

    text: str
    citations: Sequence[Citation]


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


class Words:
    """Says the steps of one question in words, a line or more for each; passages that were dropped for the same reason
    are one line."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}
        self._dropped: dict[str, list[str]] = {}  # titles by reason, which are not said yet

    def __call__(self, step: Step) -> str:
        """The step in words; empty for the answer, which is not said here."""
        return "".join(f"{line}\n" for line in self._lines(step))

    def _lines(self, step: Step) -> Iterator[str]:
        if isinstance(step, Dropped):
            self._dropped.setdefault(_line(step.why), []).append(self._titles.get(step.passage, step.passage))
            return
        if not isinstance(step, Source):
            for why, titles in self._dropped.items():
                some = "; ".join(titles[:_NAMED]) + (f" and {len(titles) - _NAMED} more" if titles[_NAMED:] else "")
                yield f"Dropped: {some} ({why})"
            self._dropped.clear()
        match step:
            case AloneQuestion(text=text):
                yield f"Question: {_line(text)}"
            case Query(number=number, text=text):
                yield f"Search {number}: {_line(text)}"
            case Passages(query=number, passages=None):
                yield f"Search {number} failed"
            case Passages(query=number, passages=found):
                self._titles |= {passage.id: _line(passage.title or passage.id) for passage in found or ()}
                yield f"Found {number}: {'; '.join(self._titles[p.id] for p in found or ()) or 'nothing'}"
            case Asked(predictor=predictor, seconds=seconds):
                yield f"Asked: {predictor} ({seconds:.1f} s)"
            case Turn(number=number):
                yield f"Round {number}"
            case Source(passage=id_, why=why, supports=supports):
                yield f"{'Says so' if supports else 'Shown'}: {self._named(id_, why)}"
            case Statement(text=text, passages=ids):
                yield f"States: {self._named(_line(text), '; '.join(self._titles.get(id_, id_) for id_ in ids))}"
            case Spending(cost=cost):
                yield f"Cost: {cost.lm_calls} LM calls, {cost.searches} searches, {cost.seconds:.1f} s"

    def _named(self, id_: str, why: str) -> str:
        return self._titles.get(id_, id_) + (f" ({_line(why)})" if why else "")


def _line(text: str) -> str:
    return " ".join(printable(text).split())
