"""HotpotQA: questions over two articles, by a bridge or by comparison (Yang et al. 2018)."""

from collections.abc import Iterator, Mapping
from typing import Any

from eval.tasks.task import ABSTRACTS, DPR, RawQuestion, Task, Variant, contexts_by_title, distinct

__all__ = ["TASK"]


def _example(raw: RawQuestion, n: str) -> dict[str, Any]:
    return {
        "id": raw["id"],
        "question": raw["question"],
        "answers": [raw["answer"]],
        "type": raw["type"],
        "level": raw["level"],
        "gold_titles": distinct(*raw["supporting_facts"]["title"]),
        "gold_sentences": list(_gold_sentences(raw["supporting_facts"], raw["context"])),
    }


def _gold_sentences(facts: Mapping[str, Any], context: Mapping[str, Any]) -> Iterator[list[str]]:
    """The sentences that the answer follows from, each behind the title of its passage."""
    sentences = dict(zip(context["title"], context["sentences"], strict=True))
    for title, n in zip(facts["title"], facts["sent_id"], strict=True):
        if n < len(sentences.get(title, ())):  # a few numbers are beyond the end of their passage
            yield [title, sentences[title][n].strip()]


TASK = Task(
    "hotpotqa",
    "hotpotqa/hotpot_qa",
    _example,
    {
        "all": Variant("validation", ABSTRACTS, "the development set, 7,405 questions"),
        "blendfilter": Variant("validation", ABSTRACTS, "BlendFilter 4.1.2: 500 of the development set", first=500),
        "qpaug": Variant("validation", DPR, "QPaug Table 1: 7,405, which are the development set"),
        "migres": Variant(
            "validation",
            "Wikipedia of December 2017",
            "MIGRES 4.1: 500 of the development set, with the 200 that the authors publish",
            sample=500,
            published="hotpotqa",
            training="2wikimultihopqa:train",  # the paper shares demonstrations among multi-hop data sets
        ),
        "train": Variant("train", ABSTRACTS, "the training set, 90,447 questions", file="train"),
    },
    config="distractor",  # the questions are those of fullwiki; the passages have the gold ones among them
    leads="gold_sentences",
    contexts=lambda raw: contexts_by_title(raw["context"], "sentences"),
)
