"""PopQA: questions from a template for each relation, about known and unknown things (Mallen et al. 2023)."""

import json
from typing import Any

from eval.tasks.task import DPR, RawQuestion, Task, Variant, distinct

__all__ = ["TASK"]


def _example(raw: RawQuestion, n: str) -> dict[str, Any]:
    return {
        "id": str(raw["id"]),
        "question": raw["question"],
        "answers": distinct(*json.loads(raw["possible_answers"])),
        "type": raw["prop"],
        "gold_titles": [raw["s_wiki_title"]],  # of the subject; that of the object says nothing about the relation
        "subj": raw["subj"],
        "s_pop": raw["s_pop"],
        "o_pop": raw["o_pop"],
    }


TASK = Task(
    "popqa",
    "akariasai/PopQA",
    _example,
    {
        # It has no training set; NQ's questions are open ones over the same corpus.
        "all": Variant("test", DPR, "all 14,267 questions", training="nq:train"),
        "chain_of_rewrite": Variant("test", DPR, "Chain-of-Rewrite 3.1: all questions", training="nq:train"),
    },
)
