"""A passage scorer that a setting may name or leave out."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retrieval.ranking.scorers import Scorer

__all__ = ["scorer_or_none"]


def scorer_or_none(spec: str) -> "Scorer | None":
    """None for the spec "none", else the scorer that `retrieval.ranking.scorers.load_scorer` opens.

    Its module is imported only when a scorer is named.

    Raises:
        UsageError: no scorer has that name, or it cannot be loaded.
    """
    if spec == "none":
        return None
    from retrieval.ranking.scorers import load_scorer

    return load_scorer(spec)
