"""From the rows of a run to its figures: pure functions.

A row is one question's record, as `eval.run` writes it: id, question, answers, type, prediction, scores, error, cost.
`scores` has one entry for each metric that is defined for the question: a number, or None where the question failed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from math import fsum
from typing import Any

from eval.statistics import interval
from programs._cost import Cost

__all__ = ["Figures", "Row", "Score", "Summary", "summarise"]

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Score:
    """A metric over many questions."""

    mean: float
    """From 0 to 1; a failed question counts 0."""
    n: int
    """Questions that the metric is defined for, the failed ones included."""
    low: float
    """Where the 95 % confidence interval of the mean begins; see `eval.statistics.interval`."""
    high: float
    """Where it ends."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a group of questions comes to."""

    n: int
    """Questions, the failed ones included."""
    failed: int
    """Questions that ended in an error: no answer, neither right nor wrong."""
    unparsable: int
    """Questions with at least one LM reply that did not fit its signature; most of them are answered all the same."""
    scores: dict[str, Score]
    """By the metric's name. A metric that the program gives nothing to look at for is not here."""
    cost: dict[str, float]
    """Means over all n, by the names of `programs._cost.Cost`; no dollars where the price of any call is unknown."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run comes to."""

    complete: bool
    """Whether every question has a row."""
    questions: int
    """How many questions were to be asked."""
    total: Figures
    by_type: dict[str, Figures]
    """By the questions' type, in alphabetical order; those without one are not here."""
    first_error: str | None
    manifest: dict[str, Any]
    """What was run with what; see `eval.run.evaluate`."""
    stopped: str | None = None
    """Why the run stopped early, if a limit did it."""


def summarise(rows: Sequence[Row], questions: int, manifest: dict[str, Any], stopped: str | None = None) -> Summary:
    """The figures of these rows, of which there may be fewer than `questions`."""
    answered = [row for row in rows if row["error"] is None]
    # A program that reports no passages has no recall; its failed questions, of which nothing is known, must not give
    # it one of 0.
    measured = {name: True for row in answered or rows for name in row["scores"]}
    types = sorted({row["type"] for row in rows if row["type"] is not None})
    return Summary(
        complete=len(rows) == questions,
        questions=questions,
        total=_figures(rows, measured),
        by_type={type_: _figures([row for row in rows if row["type"] == type_], measured) for type_ in types},
        first_error=next((row["error"] for row in rows if row["error"] is not None), None),
        manifest=manifest,
        stopped=stopped,
    )


def _figures(rows: Sequence[Row], metrics: Iterable[str]) -> Figures:
    scores = {name: [row["scores"][name] or 0.0 for row in rows if name in row["scores"]] for name in metrics}
    return Figures(
        n=len(rows),
        failed=sum(row["error"] is not None for row in rows),
        unparsable=sum(row["cost"]["unparsable"] > 0 for row in rows),
        scores={
            name: Score(_mean(values), len(values), *interval(values)) for name, values in scores.items() if values
        },
        cost={name: _mean(spent) for name, spent in _costs(rows).items() if None not in spent},
    )


def _costs(rows: Sequence[Row]) -> dict[str, list[float]]:
    return {f.name: [row["cost"][f.name] for row in rows] for f in fields(Cost) if f.name != "predictors"}


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values) if values else 0.0
