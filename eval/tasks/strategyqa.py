"""StrategyQA: yes or no, by steps that the question does not name (Geva et al. 2021).

The answers of the test set are not published: the papers ask questions of the training set, or of the development set
that the authors' code splits off it.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eval.tasks.task import ABSTRACTS, RawQuestion, Task, Variant
from retrieval import UsageError

__all__ = ["TASK"]


def _example(raw: RawQuestion, n: str) -> dict[str, Any]:
    return {
        "id": raw["qid"],
        "question": raw["question"],
        "answers": ["yes" if raw["answer"] else "no"],
        "decomposition": list(raw["decomposition"]),
        "facts": list(raw["facts"]),
    }


def _paragraphs(file: Path) -> Iterator[tuple[str, str]]:
    """The paragraphs of Wikipedia that annotators gave as evidence, which the release keeps by their ids."""
    try:
        for paragraph in json.loads(file.read_text(encoding="utf-8")).values():
            yield paragraph["title"], paragraph["content"]
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise UsageError(f"{file} is not the file of StrategyQA's paragraphs: {error}") from error


TASK = Task(
    "strategyqa",
    "tasksource/strategy-qa",
    _example,
    {
        "all": Variant("train", "Wikipedia", "the training set, 2,290 questions"),
        "blendfilter": Variant(
            "train",
            ABSTRACTS,
            "BlendFilter 4.1.2: the first 500 of the training set",
            first=500,
            file="train",
        ),
        "migres": Variant(
            "train",
            "Wikipedia of December 2021",
            "MIGRES 4.1: all 229 of the development set that the authors' code splits off the training set",
            sample=229,
            published="strategyqa",
        ),
        "train": Variant(
            "train", "Wikipedia", "the training set after the first 500, which BlendFilter asks", skip=500, file="train"
        ),
    },
    leads="facts",
    release=("strategyqa_train_paragraphs.json", _paragraphs),
)
