"""A run of a retriever by itself: each question is searched as it stands, and what is found is compared with the gold.

rows.jsonl       one line per question, in their order: id, passages found (id, title, score), scores by measure
against.jsonl    the same for the retriever that it is compared with
summary.json     the figures; see `eval.figures.retrieval`
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import dspy

from eval.figures.retrieval import Measures, RetrievalFigures, figures_of, has_gold
from odqa.files import json_line, json_page, write_whole
from retrieval import Retriever, UsageError

__all__ = ["evaluate_retriever"]

_BATCH = 64


def evaluate_retriever(
    retriever: Retriever,
    examples: Sequence[dspy.Example],
    *,
    directory: str | Path,
    ks: Sequence[int] = (5, 10, 20, 100),
    against: Retriever | None = None,
    manifest: Mapping[str, Any] | None = None,
    progress: Callable[[int], object] = lambda count: None,
) -> RetrievalFigures:
    """Search every question, in batches, and write down what comes of it.

    Args:
        retriever: What to judge.
        examples: Questions with an `id`, and `answers`, `gold_titles` or `gold_passages`, as from `eval.tasks.load`.
        directory: Where the files go; new or empty.
        ks: The cut-offs; as many passages as the highest are searched for.
        against: Another retriever, which is judged by the same questions and compared.
        manifest: What this is, put into the summary; no secrets.
        progress: Called with the number of questions that have been searched since the last call; with `against` every
            question is searched twice.

    Raises:
        UsageError: there are no questions or none has gold, a cut-off is below 1, the directory cannot be used, or
            ir_measures is not installed.
        RetrievalError: a search failed.
    """
    measures = Measures(ks)
    if not any(map(has_gold, examples)):
        raise UsageError("no question has gold titles, gold passages or an answer that is not yes or no")
    out = Path(directory)
    try:
        out.mkdir(parents=True, exist_ok=True)
        used = any(out.iterdir())
    except OSError as error:
        raise UsageError(f"cannot use the directory {directory}: {error.strerror}") from error
    if used:
        raise UsageError(f"{directory} is not empty: choose an empty or a new directory")
    scores = _search(retriever, examples, measures, out / "rows.jsonl", progress)
    others = _search(against, examples, measures, out / "against.jsonl", progress) if against is not None else None
    figures = figures_of(scores, others)
    write_whole(out / "summary.json", json_page({**(manifest or {}), **asdict(figures)}))
    return figures


def _search(
    retriever: Retriever,
    examples: Sequence[dspy.Example],
    measures: Measures,
    file: Path,
    progress: Callable[[int], object],
) -> list[dict[str, float]]:
    """The scores of each question; a line for each is written to the file."""
    all_scores = []
    with file.open("wb") as lines:
        for begin in range(0, len(examples), _BATCH):
            batch = examples[begin : begin + _BATCH]
            found = retriever.batch([example.question for example in batch], measures.ks[-1])
            scores = measures(batch, found)
            for example, passages, scored in zip(batch, found, scores, strict=True):
                listed = [{"id": p.id, "title": p.title, "score": p.score} for p in passages]
                row = {"id": example.id, "passages": listed, "scores": scored}
                lines.write(json_line(row))
            all_scores += scores
            progress(len(batch))
    return all_scores
