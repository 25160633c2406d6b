"""Tasks: sets of questions with their gold answers, as examples that `dspy.Evaluate` and the optimizers take."""

from importlib.resources import files
from itertools import islice
from pathlib import Path

import dspy

from eval.tasks.jsonl import read
from retrieval import UsageError

__all__ = ["load"]

_SAMPLE = Path(str(files("eval"))) / "data" / "sample.questions.jsonl"


def load(spec: str, limit: int | None = None) -> list[dspy.Example]:
    """The questions of a task, in the order of its file.

    Args:
        spec: `sample` (the packaged questions, whose corpus is the retriever `sample`) or `file:PATH` (JSON lines,
            plain or gzipped).
        limit: Take the first so many questions; None takes all.

    Returns:
        Examples as `eval.tasks.jsonl.read` makes them.

    Raises:
        UsageError: there is no such task, its file cannot be read or has a bad line, or it has no questions.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"limit is a number of questions and must be at least 1, not {limit}")
    kind, _, path = spec.partition(":")
    if spec == "sample":
        path = str(_SAMPLE)
    elif kind != "file" or not path:
        raise UsageError(f"there is no task {spec!r}: use sample or file:QUESTIONS.jsonl[.gz]")
    examples = list(islice(read(path), limit))
    if not examples:
        raise UsageError(f"{path} has no questions")
    return examples
