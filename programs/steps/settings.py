"""Checks of a method's settings."""

from retrieval import UsageError

__all__ = ["require_counts"]


def require_counts(**counts: int | None) -> None:
    """Check settings that count something; None stands for a default.

    Raises:
        UsageError: a count is below 1; the message names the setting.
    """
    for name, count in counts.items():
        if count is not None and count < 1:
            raise UsageError(f"{name} must be at least 1, not {count}")
