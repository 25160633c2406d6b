"""Bamboogle: questions over two facts that no search engine answered at once (Press et al. 2023)."""

from typing import Any

from eval.tasks.task import DPR, RawQuestion, Task, Variant

__all__ = ["TASK"]


def _example(raw: RawQuestion, n: str) -> dict[str, Any]:
    return {"id": f"bamboogle_{n}", "question": raw["Question"], "answers": [raw["Answer"]]}


TASK = Task(
    "bamboogle",
    "chiayewken/bamboogle",
    _example,
    # It has no training set; 2WikiMultiHopQA's questions are over two facts, too.
    {"all": Variant("test", DPR, "all 125 questions", training="2wikimultihopqa:train")},
)
