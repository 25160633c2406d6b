"""HotpotQA: questions over two articles, by a bridge or by comparison (Yang et al. 2018)."""

from typing import Any

from eval.tasks.task import ABSTRACTS, DPR, RawQuestion, Task, Variant, contexts_by_title, distinct

__all__ = ["TASK"]


def _example(raw: RawQuestion, n: int) -> dict[str, Any]:
    return {
        "id": raw["id"],
        "question": raw["question"],
        "answers": [raw["answer"]],
        "type": raw["type"],
        "level": raw["level"],
        "gold_titles": distinct(*raw["supporting_facts"]["title"]),
    }


TASK = Task(
    "hotpotqa",
    "hotpotqa/hotpot_qa",
    _example,
    {
        "all": Variant("validation", ABSTRACTS, "the development set, 7,405 questions"),
        "blendfilter": Variant("validation", ABSTRACTS, "BlendFilter 4.1.2: 500 of the development set", first=500),
        "qpaug": Variant("validation", DPR, "QPaug Table 1: 7,405, which are the development set"),
        "migres": Variant(
            "validation", "Wikipedia of December 2017", "MIGRES 4.1: 500 of the development set at random", sample=500
        ),
    },
    config="distractor",  # the questions are those of fullwiki; the passages have the gold ones among them
    contexts=lambda raw: contexts_by_title(raw["context"], "sentences"),
)
