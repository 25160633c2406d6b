"""By when what a thread receives has to be there."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["left", "remaining", "until"]

_ends: ContextVar[float | None] = ContextVar("odqa_ends", default=None)


@contextmanager
def until(ends: float | None) -> Iterator[None]:
    """What is received in the block has to be there by `ends`, of `time.monotonic()`; None for no end."""
    token = _ends.set(ends)
    try:
        yield
    finally:
        _ends.reset(token)


def remaining(ends: float | None) -> float | None:
    """Seconds until then; None for ever."""
    return None if ends is None else ends - time.monotonic()


def left(silence: float | None) -> float | None:
    """How long the next bytes may be waited for: `silence` seconds, and no longer than to the end of the block.

    Raises:
        TimeoutError: the end has come.
    """
    to_end = remaining(_ends.get())
    if to_end is not None and to_end <= 0:
        raise TimeoutError("it has taken too long")
    return min((seconds for seconds in (to_end, silence) if seconds is not None), default=None)
