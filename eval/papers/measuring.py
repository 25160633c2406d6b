"""The figure of a column from the run of a row, or from other figures."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy

from eval import metrics
from eval.figures.costs import costs
from eval.figures.statistics import difference_interval, gain_interval, mean_interval, ratio_interval
from eval.figures.summary import Summary
from eval.papers.migres_studies import STUDIES
from eval.papers.tables import Column, Table, TableRow, all_tables
from eval.records.record import Row

__all__ = ["Measured", "NotRun", "check_judge", "compute", "measure", "metrics_for", "needs_answers", "reported"]

_JUDGED = ("acc_judge", "acc_judge_cover")
_OF_SEARCHES = re.compile(
    r"(answer_recall|top_k_accuracy|recall|precision|s_precision)(_passages|_evidence)?(_by_id)?(@\d+)?"
)
"""Metrics that look at what was found and not at the answer."""


class NotRun(Exception):
    """There is no figure of ours; the message says why, and what the caller can do."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure of ours, in the paper's scale."""

    value: float
    n: int
    """The questions that it is of."""
    low: float | None = None
    """Where its 95 % confidence interval begins; None where it has none."""
    high: float | None = None
    """Where it ends."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Of a metric: its scores from 0 to 1, by the question's id; a failed question has 0."""


def reported(rows: Sequence[Row]) -> list[Mapping[str, Any]]:
    """The program's own fields, for each question that has a result."""
    return [row.prediction.own for row in rows if row.prediction]


def needs_answers(table: Table, program: str, task: str) -> bool:
    """Whether a column of the table for this task depends on the program's answers."""
    columns = [column for column in table.columns if column.task == task]
    return program in STUDIES or not all(_OF_SEARCHES.fullmatch(column.metric or "") for column in columns)


def check_judge(column: Column, judge: str | None) -> None:
    """Raise NotRun for a column that needs a judge where there is none: a run for it would be paid for nothing."""
    if column.metric in _JUDGED and not judge:
        raise NotRun("needs --judge LM")


def metrics_for(task: str, program: str, judge: str | None, *, answers: bool = True) -> list[str]:
    """What a run of the program on the task is scored by: the metrics of all tables that have this task, so that one
    run serves them all, or those of a study's own table. A run without answers has those of its searches alone."""
    study = {program} & STUDIES.keys()
    tables = [table for table in all_tables() if {row.program for row in table.rows} & STUDIES.keys() == study]
    named = [column.metric for table in tables for column in table.columns if column.task == task and column.metric]
    wanted = [name for name in dict.fromkeys(named) if answers or _OF_SEARCHES.fullmatch(name)]
    return [_named(name, judge) for name in wanted if judge or name not in _JUDGED]


def load_metric(name: str, **judging: Any) -> metrics.Metric:
    """The metric of this name, as `eval.metrics.load` gives it; own:FIELD is a score that the program reports."""
    if not name.startswith("own:"):
        return metrics.load(name, **judging)

    def own(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None, *_: Any) -> float | None:
        score: float | None = prediction.get(name.removeprefix("own:"), 0.0)  # 0 for a question that failed
        return score

    own.__name__ = name
    return own


def measure(
    table: Table, row: TableRow, column: Column, summary: Summary, rows: Sequence[Row], judge: str | None
) -> Measured:
    """The column's figure, of a run of the row with this summary and these rows; raises NotRun if it has none."""
    n = summary.total.n
    if column.metric:
        return _score(_named(column.metric, judge), table, summary, rows)
    if column.ratio:
        over, under = (_numbers(name, rows) for name in column.ratio)
        if not sum(under):
            raise NotRun(f"{column.ratio[1]} is 0, and so the ratio is undefined here")
        return Measured(sum(over) / sum(under), n, *ratio_interval(over, under))
    if column.total:
        gains = _numbers(column.total, rows)
        low, high = difference_interval(gains)
        return Measured(sum(gains), n, len(gains) * low, len(gains) * high)
    if column.reported:
        numbers = _numbers(column.reported, rows)
        return Measured(sum(numbers) / len(numbers), n)
    spent = costs(rows, summary.manifest)
    counts = {"iterations": spent.iterations, "passages_shown": spent.passages}
    value = summary.total.cost["lm_calls"] if column.count == "lm_calls" else counts[column.count or ""]
    if value is None:
        raise NotRun(f"the program reports no {(column.count or '').replace('_', ' ')}")
    return Measured(value, n)


def compute(column: Column, row: TableRow, measured: Mapping[tuple[str, str], Measured]) -> Measured | None:
    """The figure of a column that rests on others, which are given by the names of their row and column.

    None where one of the row itself is missing, for which there is a reason already, and for the row that a gain is of.

    Raises:
        NotRun: the figure of the row that gains is missing, or the gain is over 0.
    """
    own = [measured[row.name, name] for name in column.rests_on() if (row.name, name) in measured]
    if len(own) < len(column.rests_on()):
        return None
    if column.gain is None:
        return _mean(own)
    if column.gain.of == row.name:
        return None
    if (best := measured.get((column.gain.of, column.gain.column))) is None:
        raise NotRun(f"a gain needs the row {column.gain.of!r} too")
    return _gain(own[0], best, column.gain.column)


def _mean(figures: Sequence[Measured]) -> Measured:
    low, high = None, None
    parts = [(f.value, f.low, f.high) for f in figures if f.low is not None and f.high is not None]
    if len(parts) == len(figures):
        low, high = mean_interval(parts)
    value, n = sum(figure.value for figure in figures) / len(figures), sum(figure.n for figure in figures)
    return Measured(value, n, low, high)


def _gain(own: Measured, best: Measured, column: str) -> Measured:
    """By how many per cent one figure is above another, over the questions that both are of."""
    shared = [question for question in own.scores if question in best.scores]
    base, better = ([figure.scores[question] for question in shared] for figure in (own, best))
    if not sum(base):
        raise NotRun(f"the figure in {column} is 0, and so a gain over it is undefined")
    ends = gain_interval(better, base)
    low, high = (None, None) if ends is None else (100 * end for end in ends)
    return Measured(100 * (sum(better) / sum(base) - 1), len(shared), low, high)


def _named(metric: str, judge: str | None) -> str:
    return f"{metric}:{judge}" if metric in _JUDGED else metric


def _score(name: str, table: Table, summary: Summary, rows: Sequence[Row]) -> Measured:
    if name not in summary.total.scores:
        raise NotRun(f"{name} is undefined here")
    score = summary.total.scores[name]
    scores = {row.id: row.scores[name] or 0.0 for row in rows if name in row.scores}
    return Measured(table.scale * score.mean, score.n, table.scale * score.low, table.scale * score.high, scores)


def _numbers(field: str, rows: Sequence[Row]) -> list[float]:
    """A field of the program's result for every question that has a result; raises NotRun if one lacks it."""
    values = [value for own in reported(rows) if (value := own.get(field)) is not None]
    if not values or len(values) < len(reported(rows)):
        raise NotRun(f"the program reports no {field.replace('_', ' ')}")
    return values
