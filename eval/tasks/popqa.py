"""PopQA: questions from a template for each relation, about known and unknown things (Mallen et al. 2023)."""

import json
from typing import Any

from eval.tasks.task import DPR, Row, Task, Variant, distinct

__all__ = ["TASK"]


def _example(row: Row, n: int) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "question": row["question"],
        "answers": distinct(*json.loads(row["possible_answers"])),
        "type": row["prop"],
        "gold_titles": [row["s_wiki_title"]],  # of the subject; that of the object says nothing about the relation
        "subj": row["subj"],
        "s_pop": row["s_pop"],
        "o_pop": row["o_pop"],
    }


TASK = Task(
    "popqa",
    "akariasai/PopQA",
    _example,
    {
        "all": Variant("test", DPR, "all 14,267 questions"),
        "chain_of_rewrite": Variant("test", DPR, "Chain-of-Rewrite 3.1: all questions"),
    },
)
