"""Tasks: sets of questions with their gold answers, as examples that `dspy.Evaluate` and the optimizers take."""

from importlib.resources import files
from itertools import islice
from pathlib import Path

import dspy

from eval.tasks import bamboogle, hotpotqa, musique, nq, popqa, strategyqa, triviaqa, two_wiki, webquestions
from eval.tasks.jsonl import read
from eval.tasks.task import SEED, Task
from retrieval import UsageError

__all__ = ["SEED", "TASKS", "choose", "load", "own_file"]

_SAMPLE = Path(str(files("eval"))) / "tasks" / "sample.questions.jsonl"
_MODULES = (hotpotqa, two_wiki, musique, strategyqa, nq, triviaqa, webquestions, popqa, bamboogle)

TASKS: dict[str, Task] = {module.TASK.name: module.TASK for module in _MODULES}
"""The data sets, one file each, by name."""


def load(spec: str, limit: int | None = None, *, data: str | Path | None = None) -> list[dspy.Example]:
    """The questions of a task, in their order.

    Args:
        spec: `sample` (the packaged questions, which go with the retriever `sample`), `file:PATH` or the path itself
            (JSON lines, plain or gzipped, or a table, .csv or .tsv), or NAME or NAME:VARIANT for a data set and the
            questions that a paper asks of it; see `TASKS`.
        limit: How many questions to take from the start; None for all.
        data: Directory with local copies of data sets: see `Task.questions`.

    Returns:
        Examples as `eval.tasks.jsonl.read` makes them.

    Raises:
        UsageError: there is no such task, or its questions are out of reach, malformed, or none.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"limit is a number of questions and must be at least 1, not {limit}")
    if path := own_file(spec):
        examples = list(islice(read(path), limit))
        if not examples:
            raise UsageError(f"{path} has no questions")
        return examples
    task, variant = choose(spec)
    return task.questions(variant, None if data is None else Path(data))[:limit]


def own_file(spec: str) -> str:
    """The path of the questions of a task that is no data set; empty for a data set's name."""
    kind, _, rest = spec.partition(":")
    if spec == "sample" or (kind == "file" and rest):
        return str(_SAMPLE) if spec == "sample" else rest
    return spec if kind not in TASKS and Path(spec).exists() else ""


def choose(spec: str) -> tuple[Task, str]:
    """The data set and the variant of NAME or NAME:VARIANT.

    Raises:
        UsageError: there is no such data set.
    """
    name, _, variant = spec.partition(":")
    if name not in TASKS:
        if Path(spec).suffix in (".csv", ".tsv", ".jsonl", ".gz"):
            raise UsageError(f"there is no file {spec}")
        raise UsageError(f"there is no task {spec!r}: use sample, QUESTIONS.jsonl[.gz] or .csv, or {', '.join(TASKS)}")
    return TASKS[name], variant or "all"
