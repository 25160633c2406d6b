"""MuSiQue-Ans: questions composed of two to four single ones, with their decomposition (Trivedi et al. 2022)."""

from typing import Any

from eval.tasks.task import RawQuestion, Task, Variant, distinct

__all__ = ["TASK"]

_CORPUS = "Wikipedia of December 2021"


def _example(raw: RawQuestion, n: str) -> dict[str, Any]:
    return {
        "id": raw["id"],
        "question": raw["question"],
        "answers": distinct(raw["answer"], *raw["answer_aliases"]),
        "type": raw["id"].partition("__")[0],  # 2hop, 3hop1, 3hop2, 4hop1 …
        "gold_titles": distinct(*(p["title"] for p in raw["paragraphs"] if p["is_supporting"])),
        "decomposition": [{"question": s["question"], "answer": s["answer"]} for s in raw["question_decomposition"]],
    }


TASK = Task(
    "musique",
    "dgslibisey/MuSiQue",
    _example,
    {
        "all": Variant("validation", _CORPUS, "the development set, 2,417 questions"),
        "migres": Variant(
            "validation",
            _CORPUS,
            "MIGRES 4.1: 500 of the development set, with the 200 that the authors publish",
            sample=500,
            published="musique",
            training="2wikimultihopqa:train",  # the paper shares demonstrations among multi-hop data sets
        ),
        "train": Variant("train", _CORPUS, "the training set, 19,938 questions", file="train"),
        "study": Variant("train", _CORPUS, "MIGRES 2.1: 500 of the training set at random", sample=500, file="train"),
    },
    leads="decomposition",
    contexts=lambda raw: ((p["title"], p["paragraph_text"].strip()) for p in raw["paragraphs"]),
)
