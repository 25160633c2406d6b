"""The figures of many runs in one file, a line of comma-separated values for each; the page of all methods has them.

Beside it, a file of the questions of language models: with these, runs can be compared that were made on different days
and machines, without their directories.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from odqa.files import write_whole
from odqa.http import one_line
from retrieval import UsageError

__all__ = ["Line", "QuestionLine", "merged", "merged_questions", "read_lines", "write_lines"]


class Line(BaseModel):
    """A run's figures; with an n of 0, it is yet to be made. Scores are from 0 to 1, with the ends of their 95 %
    intervals; costs are per question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    program: str
    lm: str
    """`floor` and `ceiling` of the extractive reader and the oracle, else the model's name."""
    variant: str = ""
    """How the program or the LM is used other than usually: settings, state, form of the requests."""
    settings: str = ""
    """Those that the task asks for."""
    retriever: str
    asked: int
    """Questions of the run."""
    n: int = 0
    """Those of them that have a row."""
    failed: int = 0
    unparsable: int = 0
    """Questions with a reply that did not fit."""
    metric: str = ""
    """That of the score."""
    score: float = 0.0
    score_low: float = 0.0
    score_high: float = 0.0
    f1: float | None = None
    f1_low: float | None = None
    f1_high: float | None = None
    to_direct: float | None = None
    """The score less that of `direct` with the same LM, over the questions that both were asked; with floor and ceiling
    this and what follows is left out."""
    to_direct_low: float | None = None
    to_direct_high: float | None = None
    to_direct_p: float | None = None
    """How likely a difference as large as this one is by chance; see `eval.figures.statistics.paired_test`."""
    answered: int | None = None
    """Questions with an answer that is no refusal."""
    not_found: int | None = None
    """Wrong answers for which a part of the gold was not found."""
    dropped: int | None = None
    """Those for which all was found, and a part dropped on the way to the answering call."""
    misread: int | None = None
    """Those whose answering call was shown all gold."""
    gold: str = ""
    """What gold is compared by: titles or ids; empty where the questions have none or nothing is searched."""
    gold_n: int = 0
    """Questions that have gold."""
    found: float | None = None
    """Share of the gold passages that were found."""
    found_low: float | None = None
    found_high: float | None = None
    kept: float | None = None
    """Share that the answering call was shown; None also where it is shown nothing but what the LM wrote and does not
    say of which passages."""
    kept_low: float | None = None
    kept_high: float | None = None
    lm_calls: float = 0.0
    depth: float = 0.0
    """The longest chain of LM calls that wait for one another."""
    searches: float = 0.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    seconds: float | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells it from the others."""
        return (self.task, self.program, self.lm, self.variant)


class QuestionLine(BaseModel):
    """What a run with a language model gave for one question. Scores are from 0 to 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    program: str
    lm: str
    variant: str = ""
    """As in the `Line` of the run."""
    id: str
    """The question's id in its data set."""
    score: float
    """By the metric of the run's line; 0 where the question failed."""
    f1: float | None = None
    outcome: str
    """Whether it is right by that metric, and else why not; see `eval.figures.outcomes.outcome`."""
    lm_calls: int
    depth: int
    tokens_in: int
    tokens_out: int
    seconds: float

    @property
    def key(self) -> tuple[str, str, str, str]:
        """That of the run's `Line`."""
        return (self.task, self.program, self.lm, self.variant)


_Line = TypeVar("_Line", Line, QuestionLine)


def read_lines(file: Path, kind: type[_Line]) -> list[_Line]:
    """The lines of the file; none where it is missing.

    Raises:
        UsageError: the file cannot be read, or is not as `write_lines` writes it.
    """
    if not file.exists():
        return []
    try:
        rows = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")), strict=True)
        return [kind.model_validate({name: value for name, value in row.items() if value != ""}) for row in rows]
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, csv.Error, ValidationError) as error:
        raise UsageError(f"{file} is not as this command writes it: {one_line(error)}") from error


def write_lines(file: Path, lines: Iterable[_Line], kind: type[_Line]) -> None:
    """Write the lines in place of what the file had."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(kind.model_fields), lineterminator="\n")
    writer.writeheader()
    writer.writerows(line.model_dump() for line in lines)
    write_whole(file, text.getvalue().encode())


def merged(old: Sequence[Line], new: Sequence[Line]) -> list[Line]:
    """The lines with the new ones in place of those that were made of the same, in one order: by task, as they first
    come, then by program, LM (floor and ceiling first) and variant. A run that is yet to be made replaces nothing."""
    by_key = {line.key: line for line in old}
    by_key |= {line.key: line for line in new if line.n or line.key not in by_key}
    tasks = list(dict.fromkeys(line.task for line in by_key.values()))

    def place(line: Line) -> tuple[int, str, bool, bool, str, str]:
        return (tasks.index(line.task), line.program, line.lm != "floor", line.lm != "ceiling", line.lm, line.variant)

    return sorted(by_key.values(), key=place)


def merged_questions(old: Sequence[QuestionLine], new: Sequence[QuestionLine]) -> list[QuestionLine]:
    """The lines with the new ones in place of all those of the same run, ordered by run."""
    made = {line.key for line in new}
    return sorted([line for line in old if line.key not in made] + list(new), key=lambda line: line.key)
