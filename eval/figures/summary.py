"""From the rows of a run to its figures: pure functions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from math import fsum
from typing import Any, TypeVar

from eval.figures.statistics import interval
from eval.records.record import Manifest, Row
from eval.records.run import Run
from programs.instruments.cost import Cost, Spent
from retrieval.indexes import Progress

__all__ = ["Figures", "Score", "Summary", "figures_of", "judges", "summarise", "total", "total_by_name"]

_Kind = TypeVar("_Kind", bound=Spent)


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
    """The figures of a group of questions."""

    n: int
    """Questions, the failed ones included."""
    failed: int
    """Questions that ended in an error: no answer, neither right nor wrong."""
    unparsable: int
    """Questions with at least one LM reply that did not fit its signature; most of them are answered all the same."""
    scores: dict[str, Score]
    """By metric. A metric that the program reports nothing for is not here."""
    cost: dict[str, float]
    """Means over all n, by the names of `programs.instruments.cost.Cost`; no dollars where the price of any call is
    unknown."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a run."""

    complete: bool
    """Whether every question has a row."""
    questions: int
    """How many questions were to be asked."""
    total: Figures
    by_type: dict[str, Figures]
    """By the type of question, in alphabetical order. Questions without a type are not here."""
    first_error: str | None
    manifest: Manifest
    """What was run with what."""
    stopped: str | None = None
    """The limit that stopped the run early, in words."""
    judges: dict[str, Spent] = field(default_factory=dict)
    """What the judges cost, by metric; not part of any other cost."""


def summarise(
    rows: Sequence[Row],
    questions: int,
    manifest: Manifest,
    stopped: str | None = None,
    *,
    progress: Progress = lambda parts, desc: parts,
) -> Summary:
    """The figures of these rows, of which there may be fewer than `questions`; `progress`, called as
    ``tqdm(parts, desc="summarising")``, goes through what takes seconds for thousands of questions."""
    answered = [row for row in rows if row.error is None]
    # A program that reports no passages has no recall. Its failed questions must not give it a recall of 0.
    measured = {name: True for row in answered or rows for name in row.scores}
    types = sorted({row.type for row in rows if row.type is not None})
    groups = [rows, *([row for row in rows if row.type == type_] for type_ in types)]
    metrics = iter(progress(list(measured) * len(groups), desc="summarising"))
    total_, *by_type = (_figures(group, islice(metrics, len(measured))) for group in groups)
    next(metrics, None)  # or the progress would not see its end
    return Summary(
        complete=len(rows) == questions,
        questions=questions,
        total=total_,
        by_type=dict(zip(types, by_type, strict=True)),
        first_error=next((str(row.error) for row in rows if row.error is not None), None),
        manifest=manifest,
        stopped=stopped,
        judges=judges(rows, manifest),
    )


def figures_of(run: Run) -> Summary:
    """The figures of a run as it is on disk."""
    return summarise(run.rows, run.manifest.asked, run.manifest, run.gap)


def judges(rows: Sequence[Row], manifest: Manifest) -> dict[str, Spent]:
    """What the judges cost altogether, by metric: their self-tests, and these rows."""
    return total_by_name([*(run.self_tests for run in manifest.best_of or [manifest]), *(row.judging for row in rows)])


def total(kind: type[_Kind], spent: Sequence[Spent]) -> _Kind:
    """The sums of what was spent, without the shares of the predictors; None where a summand is unknown."""
    names = [field.name for field in fields(kind) if field.name != "predictors"]
    values = {name: [getattr(each, name) for each in spent] for name in names}
    sums: dict[str, Any] = {name: None if None in each else _sum(each) for name, each in values.items()}
    return kind(**sums)


def total_by_name(spent: Sequence[Mapping[str, Spent]]) -> dict[str, Spent]:
    """The sums of what was spent under each name."""
    names = dict.fromkeys(name for each in spent for name in each)
    return {name: total(Spent, [each[name] for each in spent if name in each]) for name in names}


def _figures(rows: Sequence[Row], metrics: Iterable[str]) -> Figures:
    scores = {}
    for name in metrics:
        if values := [row.scores[name] or 0.0 for row in rows if name in row.scores]:
            scores[name] = Score(_mean(values), len(values), *interval(values))
    return Figures(
        n=len(rows),
        failed=sum(row.error is not None for row in rows),
        unparsable=sum(row.cost.unparsable > 0 for row in rows),
        scores=scores,
        cost={name: _mean(spent) for name, spent in _costs(rows).items() if None not in spent},
    )


def _costs(rows: Sequence[Row]) -> dict[str, list[float]]:
    return {f.name: [getattr(row.cost, f.name) for row in rows] for f in fields(Cost) if f.name != "predictors"}


def _sum(values: Sequence[float]) -> float:
    return fsum(values) if any(isinstance(value, float) for value in values) else sum(values)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values) if values else 0.0
