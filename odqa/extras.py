"""Packages that only some parts of this project need."""

from collections.abc import Iterator
from contextlib import contextmanager

from odqa.errors import UsageError

__all__ = ["needing"]


@contextmanager
def needing(extra: str | None = None, *, package: str | None = None) -> Iterator[None]:
    """Import packages in the block, and say how to get one that is not installed.

    Args:
        extra: The extra of this project that installs them.
        package: What installs them where no extra does.

    Raises:
        UsageError: one is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = package or f"'dspy-odqa[{extra}]'"
        raise UsageError(f"{error.name} is not installed, get it by: pip install {name}") from error
