"""Runs side by side, on the questions that all of them asked: their figures, and what differs by more than chance.

Several attempts at the same questions can stand for one run, the best of n, as in BlendFilter's Fig. 4: make a run of
each, in a directory of its own and with another --temperature, for DSPy's cache gives the same answer to the same call
of the same LM with the same settings. Then `best_of` them, or name their directories with commas between them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import fsum
from pathlib import Path
from typing import Any

from eval.figures.statistics import difference_interval, holm, paired_test
from eval.figures.summary import Row, Summary, summarise
from retrieval import UsageError

__all__ = ["Compared", "Comparison", "Difference", "Run", "best_of", "compare", "read"]


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its directory holds it."""

    name: str
    """The directory, as it was given."""
    manifest: dict[str, Any]
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the runs."""

    name: str
    left_out: int
    """How many of its questions are left out, for not all runs have asked them."""
    summary: Summary
    """Of the questions that all runs have asked."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Of two runs in the mean of a metric over the questions for which it is defined in both."""

    metric: str
    type: str | None
    """The questions' type; None for all questions."""
    first: str
    second: str
    n: int
    mean: float
    """The first run's mean less the second's; a failed question counts 0."""
    low: float
    """Where the 95 % confidence interval begins; see `eval.figures.statistics.difference_interval`."""
    high: float
    """Where it ends."""
    p: float
    """See `eval.figures.statistics.paired_test`."""
    p_corrected: float
    """Corrected by Holm's method for the number of comparisons by the same metric: of those over all questions, or,
    where there is a type, of those by type."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs or more, and each with each."""

    questions: int
    """How many all runs have asked."""
    metrics: list[str]
    runs: list[Compared]
    differences: list[Difference]


def read(directory: str) -> Run:
    """A run, finished or not.

    Args:
        directory: Its directory; several with commas between them are attempts at the same questions, of which the
            best counts, see `best_of`.

    Raises:
        UsageError: a directory holds no run, or a damaged one; or several do not fit.
    """
    samples = [_read(path) for path in directory.split(",")]
    return samples[0] if len(samples) == 1 else best_of(samples)


def best_of(samples: Sequence[Run]) -> Run:
    """What one would have who could choose the best of several answers to each question.

    For each question that all samples have asked each metric has the highest score that an answer has, a question has
    failed where all attempts at it have, and the costs are added up. There is no prediction in the rows.

    Raises:
        UsageError: they are of different tasks or have no question in common.
    """
    shared = _shared(samples)
    together = [list(rows) for rows in zip(*shared, strict=True)]
    first, *others = (sample.manifest for sample in samples)
    same = {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}
    return Run(
        ",".join(sample.name for sample in samples),
        {**same, "best_of": [sample.manifest for sample in samples]},
        [_best(rows) for rows in together],
    )


def compare(runs: Sequence[Run], metrics: Sequence[str] = ()) -> Comparison:
    """Each run with each, on the questions that all of them have asked.

    Args:
        runs: At least two, with names of their own.
        metrics: What to compare by; by default all metrics that all runs have.

    Raises:
        UsageError: there are too few runs, or one twice; they are of different tasks, or have no question or metric in
            common; or some run does not have a metric.
    """
    if len(runs) < 2:
        raise UsageError("there must be at least two runs to compare")
    if len({run.name for run in runs}) < len(runs):
        raise UsageError("one of the runs is named twice")
    shared = _shared(runs)
    summaries = [summarise(rows, len(rows), run.manifest) for run, rows in zip(runs, shared, strict=True)]
    common = [name for name in summaries[0].total.scores if all(name in s.total.scores for s in summaries)]
    for name in metrics:
        if name not in common:
            raise UsageError(f"not all of the runs have the metric {name!r}; what they all have: {', '.join(common)}")
    if not common:
        raise UsageError("the runs have no metric in common")
    chosen = list(dict.fromkeys(metrics)) or common
    types = list(summaries[0].by_type) if len(summaries[0].by_type) > 1 else []
    pairs = list(combinations([(run.name, rows) for run, rows in zip(runs, shared, strict=True)], 2))
    return Comparison(
        questions=len(shared[0]),
        metrics=chosen,
        runs=[
            Compared(run.name, len(run.rows) - len(rows), summary)
            for run, rows, summary in zip(runs, shared, summaries, strict=True)
        ],
        differences=[
            difference
            for metric in chosen
            for family in ([None], types)
            for difference in _family([_difference(metric, type_, *pair) for type_ in family for pair in pairs])
        ],
    )


def _read(directory: str) -> Run:
    path = Path(directory)
    try:
        manifest = json.loads((path / "manifest.json").read_bytes())
        rows_file = path / "rows.jsonl"
        lines = rows_file.read_bytes().splitlines(keepends=True) if rows_file.exists() else []
        # A line without its end is being written, or was when the process was killed.
        rows = [json.loads(line) for line in lines if line.endswith(b"\n")]
        return Run(directory, dict(manifest), list({row["id"]: row for row in rows}.values()))
    except OSError as error:
        raise UsageError(f"{directory} holds no run: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"the run in {directory} is damaged") from error


def _shared(runs: Sequence[Run]) -> list[list[Row]]:
    """Each run's rows of the questions that all have asked, in the same order."""
    first, *others = runs
    for other in others:
        _check_task(first, other)
    by_id = [{row["id"]: row for row in run.rows} for run in runs]
    ids = [id_ for id_ in by_id[0] if all(id_ in rows for rows in by_id)]
    if not ids:
        raise UsageError(f"the runs {', '.join(run.name for run in runs)} have no question in common")
    for id_ in ids:
        if any(rows[id_][key] != by_id[0][id_][key] for rows in by_id for key in ("question", "answers")):
            raise UsageError(f"the question {id_!r} is not the same in all runs: they are of different tasks")
    return [[rows[id_] for id_ in ids] for rows in by_id]


def _check_task(first: Run, other: Run) -> None:
    if first.manifest.get("questions") == other.manifest.get("questions"):
        return  # the very same, whatever the file is called
    tasks = [run.manifest.get("task") for run in (first, other)]
    if tasks[0] != tasks[1]:
        raise UsageError(f"{first.name} is of the task {tasks[0]}, {other.name} of {tasks[1]}: they cannot be compared")


def _best(rows: Sequence[Row]) -> Row:
    names = dict.fromkeys(name for row in rows for name in row["scores"])
    scores = {name: [score for row in rows if (score := row["scores"].get(name)) is not None] for name in names}
    return {
        **rows[0],
        "prediction": None,
        "scores": {name: max(values, default=None) for name, values in scores.items()},
        "error": rows[0]["error"] if all(row["error"] is not None for row in rows) else None,
        "cost": _sum([row["cost"] for row in rows]),
        "judging": _sum([row.get("judging") or {} for row in rows]),
    }


def _sum(costs: Sequence[Any]) -> Any:
    """Numbers are added up, and what has the same name in mappings; what is unknown in one is unknown in the sum."""
    if isinstance(costs[0], dict):
        names = dict.fromkeys(name for cost in costs for name in cost)
        return {name: _sum([cost[name] for cost in costs if name in cost]) for name in names}
    return None if None in costs else sum(costs)


def _difference(
    metric: str, type_: str | None, first: tuple[str, list[Row]], second: tuple[str, list[Row]]
) -> Difference | None:
    """None where the metric is not defined in both runs for any of these questions."""
    differences = [
        (one["scores"][metric] or 0.0) - (other["scores"][metric] or 0.0)
        for one, other in zip(first[1], second[1], strict=True)
        if type_ in (None, one["type"]) and metric in one["scores"] and metric in other["scores"]
    ]
    if not differences:
        return None
    mean = fsum(differences) / len(differences)
    p = paired_test(differences)
    return Difference(
        metric, type_, first[0], second[0], len(differences), mean, *difference_interval(differences), p, p
    )


def _family(members: Sequence[Difference | None]) -> list[Difference]:
    """Those that there are, their p-values corrected for their number."""
    differences = [member for member in members if member]
    corrected = holm([difference.p for difference in differences])
    return [replace(difference, p_corrected=p) for difference, p in zip(differences, corrected, strict=True)]
