"""The ceiling of a run: its LM is the oracle, which is told the gold answers and passages of each question.

`lms.oracle` says what such a run measures. The extractive reader, which is no language model, gives the floor.
"""

from collections.abc import Iterable, Sequence

import dspy

from eval.metrics.gold import decomposition_of, golds_of, steps_of
from lms.oracle import Gold, oracle_lm
from retrieval import Retriever, UsageError

__all__ = ["gold_of", "is_oracle", "load_oracle"]

_FEW = 20  # passages to search for a title, so that the one with just this title is among them


def is_oracle(spec: str) -> bool:
    """Whether this names the oracle: oracle, or oracle:ERROR_RATE."""
    return spec.partition(":")[0] == "oracle"


def load_oracle(spec: str, examples: Sequence[dspy.Example], retriever: Retriever | None, seed: int = 0) -> dspy.LM:
    """The oracle for these questions.

    Args:
        spec: oracle, or oracle:ERROR_RATE.
        examples: The questions, with `gold_titles`, `decomposition`, `evidences` … as far as they are known.
        retriever: The run's retriever. It finds the titles of gold passages of which only the ids are known.
        seed: Of the oracle's errors.

    Raises:
        UsageError: the error rate is not a number from 0 to 1.
    """
    rate = spec.partition(":")[2]
    try:
        error_rate = float(rate or 0)
    except ValueError:
        raise UsageError(f"the oracle's error rate must be a number from 0 to 1, not {rate!r}") from None
    return oracle_lm((gold_of(example, retriever) for example in examples), error_rate=error_rate, seed=seed)


def gold_of(example: dspy.Example, retriever: Retriever | None = None) -> Gold:
    """What the oracle knows of a question, from the fields that the tasks have.

    Where annotators disagree (`gold_by_annotator`, lists of ids) the passages of any one of them suffice; else all
    `gold_titles` are needed.
    """
    steps = list(decomposition_of(example))
    hops = [part for triple in example.get("evidences") or () for part in (triple[0], triple[-1])]
    return Gold(
        question=example.question,
        answers=tuple(golds_of(example)),
        titles=tuple(_title_sets(example, retriever)),
        leads=tuple(dict.fromkeys([*(text for step in steps for text in step if text), *hops])),
        steps=tuple(steps_of(example)),
    )


def _title_sets(example: dspy.Example, retriever: Retriever | None) -> Iterable[tuple[str, ...]]:
    titles = tuple(example.get("gold_titles") or ())
    annotated = example.get("gold_by_annotator") or ()
    if titles and annotated and retriever is not None:
        found = (passage for title in titles for passage in retriever(title, _FEW))
        by_id = {passage.id: passage.title for passage in found if passage.title in titles}
        sets = [tuple(dict.fromkeys(by_id[id] for id in ids)) for ids in annotated if set(ids) <= by_id.keys()]
        if sets := [titles for titles in sets if titles]:
            return sets
    return [titles] if titles else []
