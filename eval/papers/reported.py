"""What programs report of their own, beside answer, queries, passages and evidence: the one place here that reads it."""

from collections.abc import Mapping, Sequence
from typing import Any

from eval.figures.summary import Row

__all__ = ["reported"]


def reported(rows: Sequence[Row]) -> list[Mapping[str, Any]]:
    """The fields of the program's result, for each question that has one."""
    return [row["prediction"] for row in rows if row["prediction"]]
