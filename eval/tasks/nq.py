"""Natural Questions, open: questions put to a search engine, with short answers (Kwiatkowski et al. 2019)."""

from typing import Any

from eval.tasks.task import DPR, RawQuestion, Task, Variant, distinct

__all__ = ["TASK"]


def _example(raw: RawQuestion, n: str) -> dict[str, Any]:
    return {"id": f"nq-{n}", "question": raw["question"], "answers": distinct(*raw["answer"])}


TASK = Task(
    "nq",
    "google-research-datasets/nq_open",
    _example,
    {
        "all": Variant("validation", DPR, "the open questions of the development set, 3,610, which DPR tests on"),
        "chain_of_rewrite": Variant("validation", DPR, "Chain-of-Rewrite 3.1: the split of DPR"),
        # The paper counts 4,289 questions, some of which nq_open leaves out: it wants answers of at most five words.
        "qpaug": Variant("validation", DPR, "QPaug Table 1 has 4,289; these are the 3,610 that nq_open keeps"),
        "migres": Variant(
            "validation", DPR, "MIGRES 4.1: 200, as the authors publish them", sample=200, published="nq"
        ),
        "train": Variant("train", DPR, "the training set, 87,925 questions", file="train"),
    },
)
