"""A run as it is on disk; `eval.runs.store.read` gives it."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from eval.records.record import Manifest, PaidCall, Row
from odqa.files import write_whole, writing_lines
from odqa.reading import Damaged, lines_as, reading
from retrieval import Passage

__all__ = ["CallLog", "Run", "read_passage", "say_left_out"]

logger = logging.getLogger(__name__)

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
                found = lines_as(directory / name, parse, left_out=left_out if self.skip_damaged else None)
                yield from (parsed for parsed, _ in found)
        say_left_out(left_out, meaning)


class CallLog:
    """The file with the LM calls that were paid for, each with its reply.

    Args:
        path: The file; it need not be there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Iterator[PaidCall]:
        """The calls so far, one at a time, without a last line that is cut off.

        Raises:
            UsageError: the file cannot be used or is damaged.
        """
        with reading(f"cannot use {self.path}", "choose another directory for the run"):
            for call, _ in lines_as(self.path, PaidCall.model_validate, finite=False):
                yield call

    def begin_with(self, directory: Path) -> None:
        """Take in the calls of the run in this directory, unless there are calls already.

        Raises:
            UsageError: a file cannot be used, or the calls are damaged.
        """
        with reading(f"cannot use {self.path}"):
            if not self.path.exists() and (directory / "calls.jsonl").exists():
                found = lines_as(directory / "calls.jsonl", PaidCall.model_validate, finite=False)
                write_whole(self.path, b"".join(line for _, line in found))

    @contextmanager
    def appending(self) -> Iterator[Callable[[bytes], object]]:
        """Gives a function that writes a call, as a line; when it returns, the call outlives this process.

        Only one process at a time may append. Any thread may write, and writes after the block are refused with a
        ValueError: a question that was left behind may still be under way.
        """
        with writing_lines(self.path) as write:
            yield write


def say_left_out(left_out: Sequence[Damaged], meaning: str) -> None:
    """Warn of damaged lines that were left out, and say what that means."""
    if left_out:
        count = "1 damaged line is" if len(left_out) == 1 else f"{len(left_out)} damaged lines are"
        logger.warning("%s left out: %s; the first: %s", count, meaning, left_out[0])
