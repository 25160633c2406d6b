"""An object whose pickle makes a file when it is read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Hostile"]


@dataclass
class Hostile:
    """Pickled, it is a call that makes the file."""

    file: Path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.file,)
