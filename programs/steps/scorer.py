"""A scorer of passages, where a setting names one."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retrieval.ranking.scorers import Scorer

__all__ = ["scorer_or_none"]


def scorer_or_none(spec: str) -> "Scorer | None":
    """The scorer that `retrieval.ranking.scorers.load_scorer` opens, which is not imported before; None for none.

    Raises:
        UsageError: no scorer has that name, or it cannot be loaded.
    """
    if spec == "none":
        return None
    from retrieval.ranking.scorers import load_scorer

    return load_scorer(spec)
