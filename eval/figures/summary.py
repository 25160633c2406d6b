"""From the rows of a run to its figures: pure functions.

A row is one question's record, as `eval.runs.runner` writes it: id, question, answers, type, gold_titles,
gold_passages, searches, prediction, scores, error, cost, judging. `searches` is what was seen of the program from
outside: each `query` sent to a retriever and the ids of the passages `found`, or None where the search failed. `scores`
has one entry for each metric that is defined for the question: a number, or None where the question failed. `cost` is
the program's; `judging` has what each metric that asks an LM cost.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import fsum
from typing import Any

from eval.figures.statistics import interval
from programs.instruments.cost import Cost, Spent

__all__ = ["Figures", "Row", "Score", "Summary", "judges", "summarise", "sums"]

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Score:
    """A metric over many questions."""

    mean: float
    """From 0 to 1; a failed question counts 0."""
    n: int
    """Questions that the metric is defined for, the failed ones included."""
    low: float
    """Where the 95 % confidence interval of the mean begins; see `eval.figures.statistics.interval`."""
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
    """Means over all n, by the names of `programs.instruments.cost.Cost`; no dollars where the price of any call is
    unknown."""


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
    """What was run with what; see `eval.runs.runner.evaluate`."""
    stopped: str | None = None
    """Why the run stopped early, if a limit did it."""
    judges: dict[str, Spent] = field(default_factory=dict)
    """What the judges cost, see `judges`; no part of any other cost."""


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
        judges=judges(rows, manifest),
    )


def judges(rows: Sequence[Row], manifest: Mapping[str, Any]) -> dict[str, Spent]:
    """What the judges cost altogether, by the names of their metrics: their tests, and these rows."""
    tests = [run.get("self_tests") or {} for run in manifest.get("best_of", [manifest])]
    spent = [*tests, *(row.get("judging") or {} for row in rows)]
    names = dict.fromkeys(name for each in spent for name in each)
    return {name: Spent(**sums(Spent, [each[name] for each in spent if name in each])) for name in names}


def sums(kind: type[Spent], spent: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums by the names of this kind, `predictors` excepted; None where one of the summands is unknown."""
    names = [field.name for field in fields(kind) if field.name != "predictors"]
    values = {name: [each[name] for each in spent] for name in names}
    return {name: None if None in each else _sum(each) for name, each in values.items()}


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


def _sum(values: Sequence[float]) -> float:
    return fsum(values) if any(isinstance(value, float) for value in values) else sum(values)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values) if values else 0.0
