"""The questions of a table's column: the paper's, or those of a smaller local copy."""

from dataclasses import dataclass
from pathlib import Path

import dspy

from eval.tasks import choose, load
from eval.tasks.jsonl import read
from retrieval import UsageError

__all__ = ["Questions", "find_questions"]


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions that the rows of a table are asked."""

    examples: list[dspy.Example]
    where: str
    """Which questions they are, in words: the paper's, or those of a local copy; and how many such a copy has, since
    the paper may draw its questions from more."""


def find_questions(task: str, limit: int | None, data: str | Path | None) -> Questions:
    """The paper's questions, as `eval.tasks.load` takes them. Where the local copy of their split has too few for the
    paper's sample, or there is only a copy of another split: all questions of that copy.

    Raises:
        UsageError: the questions are neither here nor on the hub, or the copy is damaged.
    """
    chosen, variant = choose(task)
    where = f"{task}, {chosen.variants[variant].source}"
    directory = None if data is None else Path(data)
    of_split, other = (chosen.local_copy(name, directory) for name in (variant, "all"))
    copy = of_split or other
    if of_split or not other:
        try:
            examples = load(task, limit, data=data)
            held = f", from a local copy with {sum(1 for _ in read(of_split))} questions" if of_split else ""
            return Questions(examples, f"{where}{held}")
        except UsageError:
            if not copy:
                raise
    return Questions(load(f"file:{copy}", limit), f"the local copy of {chosen.name}, in place of {where}")
