"""Runs side by side, on the questions that all of them asked: their figures, and what differs by more than chance.

Several attempts at the same questions can count as one run, the best of n, as in BlendFilter's Fig. 4: make a run of
each attempt, in a directory of its own, then take the `best_of` them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import fsum

from eval.figures.settings import Setting, differing
from eval.figures.statistics import difference_interval, holm, paired_test
from eval.figures.summary import Summary, summarise, total, total_by_name
from eval.records.record import Manifest, Row
from eval.records.run import Run
from eval.records.standing import standing
from programs.instruments.cost import Cost
from programs.instruments.trace import Trace
from retrieval import UsageError
from retrieval.indexes import Progress

__all__ = ["Compared", "Comparison", "Difference", "best_of", "compare"]


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the runs."""

    name: str
    short: str
    """As little as tells it from the others: its program, and else with its LM, or the name of its directory."""
    left_out: int
    """How many of its questions are left out because not all runs asked them."""
    summary: Summary
    """Of the questions that all runs asked."""
    found: float
    """Different passages that were found, per question."""
    shown: float | None
    """Passages and other texts that the answering call was shown, per question that was answered; None where that is
    not reported."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two runs in the mean of a metric, over the questions for which both have it."""

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
    """How many questions all runs asked."""
    metrics: list[str]
    runs: list[Compared]
    differing: list[Setting]
    """What differs between the runs' settings."""
    differences: list[Difference]


def best_of(samples: Sequence[Run]) -> Run:
    """The score of an oracle that picks the best of several answers to each question.

    It covers the questions that all samples asked. Each metric has its highest score over the answers. A question has
    failed where all attempts failed. Costs are added up. The rows have no prediction and no trace.

    Raises:
        UsageError: they are of different tasks or have no question in common.
    """
    together = [list(rows) for rows in zip(*_shared(samples), strict=True)]
    first, *others = (sample.manifest.entries() for sample in samples)
    same = {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}
    needed = {name: first[name] for name in ("format", "started", "metrics", "questions", "versions")}
    own = {"asked": len(together), "self_tests": {}, "best_of": [sample.manifest for sample in samples]}
    return Run(
        name=", ".join(sample.name for sample in samples),
        directories=tuple(directory for sample in samples for directory in sample.directories),
        manifest=Manifest.model_validate({**needed, **same, **own}),
        rows=[_best(rows) for rows in together],
        gap="; ".join(f"{sample.name}: {sample.gap}" for sample in samples if sample.gap) or None,
        skip_damaged=any(sample.skip_damaged for sample in samples),
    )


def compare(
    runs: Sequence[Run], metrics: Sequence[str] = (), *, progress: Progress = lambda parts, desc: parts
) -> Comparison:
    """Each run with each other run, on the questions that all of them asked.

    Args:
        runs: At least two, with names of their own.
        metrics: What to compare by; by default all metrics that all runs have.
        progress: Called as ``tqdm(parts, desc="summarising")`` for each run, then with "comparing", to go through
            parts.

    Raises:
        UsageError: there are fewer than two runs, or one is given twice; or the runs are of different tasks, or have no
            question or metric in common; or a run lacks one of `metrics`.
    """
    if len(runs) < 2:
        raise UsageError("there must be at least two runs to compare")
    if len({run.name for run in runs}) < len(runs):
        raise UsageError("one of the runs is named twice")
    shared = _shared(runs)
    summaries = [
        summarise(rows, len(rows), run.manifest, progress=progress) for run, rows in zip(runs, shared, strict=True)
    ]
    common = [name for name in summaries[0].total.scores if all(name in s.total.scores for s in summaries)]
    for name in metrics:
        if name not in common:
            raise UsageError(f"not all of the runs have the metric {name!r}; what they all have: {', '.join(common)}")
    if not common:
        raise UsageError("the runs have no metric in common")
    chosen = list(dict.fromkeys(metrics)) or common
    types = list(summaries[0].by_type) if len(summaries[0].by_type) > 1 else []
    pairs = list(combinations(zip((run.name for run in runs), shared, strict=True), 2))
    families = [(metric, family) for metric in chosen for family in ([None], types) if family]
    return Comparison(
        questions=len(shared[0]),
        metrics=chosen,
        runs=[
            Compared(run.name, short, len(run.rows) - len(rows), summary, _found(rows), _shown(rows))
            for run, short, rows, summary in zip(runs, _short(runs), shared, summaries, strict=True)
        ],
        differing=differing([run.manifest for run in runs]),
        differences=[
            difference
            for metric, family in progress(families, desc="comparing")
            for difference in _family([_difference(metric, type_, *pair) for type_ in family for pair in pairs])
        ],
    )


def _short(runs: Sequence[Run]) -> list[str]:
    """See `Compared.short`."""
    folders = [", ".join(directory.name for directory in run.directories) for run in runs]
    programs, with_lms = [], []
    for run, folder in zip(runs, folders, strict=True):
        lm = run.manifest.lm or ""
        of = f" best of {len(run.manifest.best_of)}" if run.manifest.best_of else ""
        programs.append(f"{run.manifest.program or folder}{of}")
        with_lms.append(f"{programs[-1]} {standing(lm) or lm.rpartition('/')[2]}")
    names = [run.name for run in runs]
    return next(each for each in (programs, with_lms, folders, names) if len({*each}) == len(runs))


def _found(rows: Sequence[Row]) -> float:
    return fsum(len(row.trace.found()) for row in rows) / len(rows)


def _shown(rows: Sequence[Row]) -> float | None:
    shown = [row.prediction.evidence for row in rows if row.prediction and row.prediction.evidence is not None]
    return fsum(map(len, shown)) / len(shown) if shown else None


def _shared(runs: Sequence[Run]) -> list[list[Row]]:
    """The rows of the questions that all runs asked, by run, in the same order."""
    first, *others = runs
    for other in others:
        tasks = [run.manifest.task for run in (first, other)]
        if first.manifest.questions != other.manifest.questions and tasks[0] != tasks[1]:
            about = f"{first.name} is of the task {tasks[0]}, {other.name} of {tasks[1]}"
            raise UsageError(f"{about}: they cannot be compared")
    by_id = [{row.id: row for row in run.rows} for run in runs]
    ids = [id_ for id_ in by_id[0] if all(id_ in rows for rows in by_id)]
    if not ids:
        raise UsageError(f"the runs {', '.join(run.name for run in runs)} have no question in common")
    for id_ in ids:
        if any(
            (rows[id_].question, rows[id_].answers) != (by_id[0][id_].question, by_id[0][id_].answers) for rows in by_id
        ):
            raise UsageError(f"the question {id_!r} is not the same in all runs: they are of different tasks")
    return [[rows[id_] for id_ in ids] for rows in by_id]


def _best(rows: Sequence[Row]) -> Row:
    names = dict.fromkeys(name for row in rows for name in row.scores)
    scores = {name: [score for row in rows if (score := row.scores.get(name)) is not None] for name in names}
    cost = total(Cost, [row.cost for row in rows])
    cost.predictors = total_by_name([row.cost.predictors for row in rows])
    return rows[0].model_copy(
        update={
            "prediction": None,
            "trace": Trace(),
            "scores": {name: max(values, default=None) for name, values in scores.items()},
            "error": rows[0].error if all(row.error is not None for row in rows) else None,
            "cost": cost,
            "judging": total_by_name([row.judging for row in rows]),
        }
    )


def _difference(
    metric: str, type_: str | None, first: tuple[str, list[Row]], second: tuple[str, list[Row]]
) -> Difference | None:
    """None if there is no such question for which both runs have the metric."""
    differences = [
        (one.scores[metric] or 0.0) - (other.scores[metric] or 0.0)
        for one, other in zip(first[1], second[1], strict=True)
        if type_ in (None, one.type) and metric in one.scores and metric in other.scores
    ]
    if not differences:
        return None
    mean = fsum(differences) / len(differences)
    p = paired_test(differences)
    return Difference(
        metric, type_, first[0], second[0], len(differences), mean, *difference_interval(differences), p, p
    )


def _family(members: Sequence[Difference | None]) -> list[Difference]:
    """The differences that exist, with p-values corrected for their number."""
    differences = [member for member in members if member]
    corrected = holm([difference.p for difference in differences])
    return [replace(difference, p_corrected=p) for difference, p in zip(differences, corrected, strict=True)]
