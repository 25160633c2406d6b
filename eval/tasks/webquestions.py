"""WebQuestions: questions put to a search engine, answered from Freebase (Berant et al. 2013)."""

from typing import Any

from eval.tasks.task import DPR, RawQuestion, Task, Variant, distinct

__all__ = ["TASK"]


def _example(raw: RawQuestion, n: str) -> dict[str, Any]:
    return {"id": f"webquestions-{n}", "question": raw["question"], "answers": distinct(*raw["answers"])}


TASK = Task(
    "webquestions",
    "stanfordnlp/web_questions",
    _example,
    {
        "all": Variant("test", DPR, "the test set, 2,032 questions"),
        "chain_of_rewrite": Variant("test", DPR, "Chain-of-Rewrite 3.1: the split of DPR"),
        "train": Variant("train", DPR, "the training set, 3,778 questions", file="train"),
    },
)
