"""Bamboogle: questions over two facts that no search engine answered at once (Press et al. 2023)."""

from typing import Any

from eval.tasks.task import DPR, Row, Task, Variant

__all__ = ["TASK"]


def _example(row: Row, n: int) -> dict[str, Any]:
    return {"id": f"bamboogle_{n}", "question": row["Question"], "answers": [row["Answer"]]}


TASK = Task(
    "bamboogle",
    "chiayewken/bamboogle",
    _example,
    {"all": Variant("test", DPR, "all 125 questions")},
)
