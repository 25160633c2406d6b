"""A run as it is on disk; `eval.runs.store.read` gives it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from eval.records.parsing import Damaged, lines, reading, say_left_out
from eval.records.record import Manifest, PaidCall, Row
from retrieval import Passage

__all__ = ["Run", "read_passage"]

_Parsed = TypeVar("_Parsed")

read_passage = TypeAdapter(Passage).validate_python
"""The passage of a line of passages.jsonl."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is on disk, finished or not; or several that count as one."""

    name: str
    directories: tuple[Path, ...]
    """One; of the best of several runs, those of all."""
    manifest: Manifest
    rows: list[Row]
    """The last row of each question, in the order in which the run was given them."""
    gap: str | None
    """Why the run is not complete, in words; None where it is."""
    skip_damaged: bool = False
    """Whether damaged lines of its files are left out, which is said in a warning."""

    def passages(self) -> dict[str, Passage]:
        """The passages that the rows name, by id.

        Raises:
            UsageError: a file cannot be read or is damaged.
        """
        meaning = "gold in these passages counts as not found"
        return {passage.id: passage for passage in self._lines("passages.jsonl", read_passage, meaning)}

    def calls(self) -> Iterator[PaidCall]:
        """The LM calls that were paid for, in the order in which they were answered.

        Raises:
            UsageError: a file cannot be read or is damaged.
        """
        return self._lines("calls.jsonl", PaidCall.model_validate, "their prompts are not shown; no figure changes")

    def _lines(self, name: str, parse: Callable[[Any], _Parsed], meaning: str) -> Iterator[_Parsed]:
        left_out: list[Damaged] = []
        with reading(f"cannot read {name} of {self.name}"):
            for directory in self.directories:
                found = lines(directory / name, parse, left_out=left_out if self.skip_damaged else None)
                yield from (parsed for parsed, _ in found)
        say_left_out(left_out, meaning)
