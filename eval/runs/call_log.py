"""The file with the LM calls that a run paid for."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from eval.runs.parsing import ELSEWHERE, lines, reading
from eval.runs.record import PaidCall
from odqa.files import open_regular, write_whole

__all__ = ["CallLog"]


class CallLog:
    """The file with the LM calls that were paid for, each with its reply.

    Args:
        path: The file; it need not be there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Iterator[PaidCall]:
        """The calls so far, one at a time, without a last line that is cut off.

        Raises:
            UsageError: the file cannot be used or is damaged.
        """
        with reading(f"cannot use {self._path}", ELSEWHERE):
            for call, _ in lines(self._path, PaidCall.model_validate, finite=False):
                yield call

    def begin_with(self, directory: Path) -> None:
        """Take in the calls of the run in this directory, unless there are calls already.

        Raises:
            UsageError: a file cannot be used, or the calls are damaged.
        """
        with reading(f"cannot use {self._path}"):
            if not self._path.exists() and (directory / "calls.jsonl").exists():
                found = lines(directory / "calls.jsonl", PaidCall.model_validate, finite=False)
                write_whole(self._path, b"".join(line for _, line in found))

    @contextmanager
    def appending(self) -> Iterator[Callable[[bytes], object]]:
        """Gives a function that writes a call, as a line; when it returns, the call outlives this process.

        First removes a last line that is cut off, so only one process at a time may append.
        Any thread may write, and writes after the block are refused with a ValueError: a question that was left behind
        may still be under way.
        """
        if self._path.exists():
            with open_regular(self._path) as before:
                os.truncate(self._path, sum(len(line) for line in before if line.endswith(b"\n")))
        file, lock = self._path.open("ab", buffering=0), threading.Lock()

        def write(line: bytes) -> None:
            with lock:
                while line:  # a disk that is nearly full takes a part, and refuses the rest
                    line = line[file.write(line) :]

        try:
            yield write
        finally:
            with lock:  # closed under a writer, the file's number could be another file's by the time it writes
                file.close()
