"""Files whose writes are counted, over all of them; at one of them something is done."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odqa import files

__all__ = ["CountedWrites"]


class CountedWrites:
    """Opens files for `odqa.files` and `Path.open`, and counts what is written.

    Args:
        number: The write at which something is done, counted from 1.
        then: Done in its place; given the write and what it is to write.
    """

    def __init__(self, number: int, then: Callable[[Callable[[bytes], int], bytes], int]) -> None:
        self.writes = 0
        self._number, self._then = number, then

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Open files this way from now on."""
        patch.setattr(files, "open", self.open, raising=False)
        patch.setattr(Path, "open", lambda path, *args, **kwargs: self.open(path, *args, **kwargs))

    def open(self, path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        file = io.open(path, mode, *args, **kwargs)  # noqa: SIM115, UP020
        if "a" not in mode and "w" not in mode:
            return file
        write = file.write

        def counted(content: bytes) -> int:
            self.writes += 1
            return self._then(write, content) if self.writes == self._number else write(content)

        class Counted:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def __getattr__(self, name: str) -> Any:
                return counted if name == "write" else getattr(file, name)

        return Counted()
