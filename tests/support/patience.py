"""Waiting for what another thread or process does, on a machine as busy as it may be."""

import time
from collections.abc import Callable
from typing import Any

__all__ = ["CPU_SECONDS", "PATIENCE", "eventually"]

PATIENCE = 200.0
"""Seconds after which a test gives up a wait. It ends a hang and says nothing of how fast a machine is, so that it is
far more than anything takes; all of it is below pytest's own limit for a test."""

CPU_SECONDS = 5.0
"""Seconds of computing, as `time.process_time` counts them, that nothing a test calls quick may take. It takes a
hundredth of that; what does not end in time takes minutes."""


def eventually(condition: Callable[[], Any]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited for too long"
        time.sleep(0.01)
