"""A worker of `retrieval.encoding` that can be killed in the middle of a task."""

import os
import time
from pathlib import Path

from odqa.errors import UsageError
from odqa.files import write_whole

__all__ = ["StuckWorker"]


class StuckWorker:
    """Writes a file for each task; at the task `stuck` it says which process it is, and waits for the file `go`."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def __call__(self, task: str) -> None:
        if task == "wrong":
            raise UsageError("there is no task 'wrong'")
        if task == "stuck":
            write_whole(self._folder / "process", str(os.getpid()))
            while not (self._folder / "go").exists():
                time.sleep(0.01)
        write_whole(self._folder / f"{task}.done", str(os.getpid()))
