"""What programs report beside answer, queries, passages and evidence: the one place here that reads it."""

from collections.abc import Mapping, Sequence
from typing import Any

from eval.runs.record import Row

__all__ = ["reported"]


def reported(rows: Sequence[Row]) -> list[Mapping[str, Any]]:
    """The program's own fields, for each question that has a result."""
    return [row.prediction.own for row in rows if row.prediction]
