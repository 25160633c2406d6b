"""2WikiMultiHopQA: questions over two to four articles, with the triples that lead to the answer (Ho et al. 2020)."""

from typing import Any

from eval.tasks.task import ABSTRACTS, DPR, RawQuestion, Task, Variant, contexts_by_title, distinct

__all__ = ["TASK"]


def _example(raw: RawQuestion, n: str) -> dict[str, Any]:
    triples = raw["evidences"]
    return {
        "id": raw["_id"],
        "question": raw["question"],
        "answers": [raw["answer"]],
        "type": raw["type"],
        "gold_titles": distinct(*raw["supporting_facts"]["title"]),
        "evidences": [list(t) for t in zip(triples["fact"], triples["relation"], triples["entity"], strict=True)],
        **({"answer_id": raw["answer_id"]} if raw.get("answer_id") else {}),  # of Wikidata; not every copy has it
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
        "migres": Variant(
            "validation",
            DPR,
            "MIGRES 4.1: 500 of the development set, with the 200 that the authors publish",
            sample=500,
            published="2wikimultihopqa",
        ),
        "train": Variant("train", DPR, "the training set, 167,454 questions", file="train"),
        "study": Variant("train", DPR, "MIGRES 2.1: 500 of the training set at random", sample=500, file="train"),
    },
    leads="evidences",
    aliases="id_aliases.json",
    contexts=lambda raw: contexts_by_title(raw["context"], "content"),
)
