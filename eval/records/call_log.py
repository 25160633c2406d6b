"""The file with the LM calls that a run paid for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from eval.records.parsing import ELSEWHERE, lines, reading
from eval.records.record import PaidCall
from odqa.files import write_whole, writing_lines

__all__ = ["CallLog"]


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
        with reading(f"cannot use {self.path}", ELSEWHERE):
            for call, _ in lines(self.path, PaidCall.model_validate, finite=False):
                yield call

    def begin_with(self, directory: Path) -> None:
        """Take in the calls of the run in this directory, unless there are calls already.

        Raises:
            UsageError: a file cannot be used, or the calls are damaged.
        """
        with reading(f"cannot use {self.path}"):
            if not self.path.exists() and (directory / "calls.jsonl").exists():
                found = lines(directory / "calls.jsonl", PaidCall.model_validate, finite=False)
                write_whole(self.path, b"".join(line for _, line in found))

    @contextmanager
    def appending(self) -> Iterator[Callable[[bytes], object]]:
        """Gives a function that writes a call, as a line; when it returns, the call outlives this process.

        Only one process at a time may append. Any thread may write, and writes after the block are refused with a
        ValueError: a question that was left behind may still be under way.
        """
        with writing_lines(self.path) as write:
            yield write
