"""2WikiMultiHopQA: questions over two to four articles, with the triples that lead to the answer (Ho et al. 2020)."""

from typing import Any

from eval.tasks.task import ABSTRACTS, DPR, Row, Task, Variant, contexts_by_title, distinct

__all__ = ["TASK"]


def _example(row: Row, n: int) -> dict[str, Any]:
    triples = row["evidences"]
    return {
        "id": row["_id"],
        "question": row["question"],
        "answers": [row["answer"]],
        "type": row["type"],
        "gold_titles": distinct(*row["supporting_facts"]["title"]),
        "evidences": [list(t) for t in zip(triples["fact"], triples["relation"], triples["entity"], strict=True)],
    }


TASK = Task(
    "2wikimultihopqa",
    "ohjoonhee/2WikiMultihopQA",
    _example,
    {
        "all": Variant("validation", DPR, "the development set, 12,576 questions"),
        "blendfilter": Variant(
            "validation",
            ABSTRACTS,
            "BlendFilter 4.1.2: 500 of the development set",
            first=500,
        ),
        "qpaug": Variant("validation", DPR, "QPaug Table 1: 12,576, which are the development set"),
        "migres": Variant("validation", DPR, "MIGRES 4.1: 500 of the development set at random", sample=500),
        "study": Variant("train", DPR, "MIGRES 2.1: 500 of the training set at random", sample=500, file="train"),
    },
    contexts=lambda row: contexts_by_title(row["context"], "content"),
)
