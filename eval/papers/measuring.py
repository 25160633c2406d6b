"""The figure of a column from the run of a row, or from other figures."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eval import metrics
from eval.figures.costs import costs
from eval.figures.statistics import gain_interval, mean_interval
from eval.figures.summary import Summary
from eval.papers.migres_studies import STUDIES
from eval.papers.reported import reported
from eval.papers.setup import Setup
from eval.papers.tables import Column, Table, TableRow, all_tables
from eval.runs.record import Row

__all__ = ["Measured", "NotRun", "check_judge", "compute", "measure", "metrics_for", "needs_answers"]

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


def needs_answers(table: Table, program: str, task: str) -> bool:
    """Whether a column of the table for this task depends on the program's answers."""
    columns = [column for column in table.columns if column.task == task]
    return program in STUDIES or not all(_OF_SEARCHES.fullmatch(column.metric or "") for column in columns)


def check_judge(column: Column, setup: Setup) -> None:
    """Raise NotRun for a column that needs a judge, where the caller names none: a run for it alone would be paid for
    nothing."""
    if column.metric in _JUDGED and not setup.judge:
        raise NotRun("needs --judge LM")


def metrics_for(
    task: str, program: str, setup: Setup, answers: bool = True, most_calls: int | None = None
) -> list[metrics.Metric]:
    """What a run of the program on the task is scored by: the study's own metrics; else those of all tables that have
    programs and this task, so that one run serves them all. A run without answers has those of its searches alone.
    Testing a judge may take `most_calls` LM calls."""
    if program in STUDIES:
        return list(STUDIES[program].metrics.values())
    tables = [table for table in all_tables() if not any(row.program in STUDIES for row in table.rows)]
    named = [column.metric for table in tables for column in table.columns if column.task == task and column.metric]
    named = [name for name in named if answers or _OF_SEARCHES.fullmatch(name)]
    wanted = [_named(name, setup) for name in dict.fromkeys(named) if name not in _JUDGED or setup.judge]
    return [metrics.load(name, judge_api_base=setup.judge_api_base, most_calls=most_calls) for name in wanted]


def measure(
    table: Table, row: TableRow, column: Column, summary: Summary, rows: Sequence[Row], setup: Setup
) -> Measured:
    """The column's figure, of a run of the row with this summary and these rows.

    Raises:
        NotRun: the run does not have it.
    """
    if column.ratio:
        ratio = STUDIES[row.program].ratios[column.ratio](rows)
        if ratio is None:
            raise NotRun(f"{column.ratio} is undefined here")
        return Measured(ratio.value, summary.total.n, ratio.low, ratio.high)
    if column.metric:
        return _score(column.metric, table, summary, rows, setup)
    value = _reported(column.reported, rows) if column.reported else _count(column, summary, rows)
    if value is None:
        name = column.reported or column.count or ""
        raise NotRun(f"the program reports no {name.replace('_', ' ')}")
    return Measured(value, summary.total.n)


def compute(column: Column, row: TableRow, measured: Mapping[tuple[str, str], Measured]) -> Measured | None:
    """The figure of a column that rests on other figures; None where one of the row itself is missing, for which there
    is a reason already, and for the row that a gain is of.

    Args:
        column: The column.
        row: The row.
        measured: Our figures, by the names of their row and column.

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


def _named(metric: str, setup: Setup) -> str:
    return f"{metric}:{setup.judge}" if metric in _JUDGED else metric


def _score(metric: str, table: Table, summary: Summary, rows: Sequence[Row], setup: Setup) -> Measured:
    name = _named(metric, setup)
    if name not in summary.total.scores:
        raise NotRun(f"{name} is undefined here")
    score = summary.total.scores[name]
    scores = {row.id: row.scores[name] or 0.0 for row in rows if name in row.scores}
    return Measured(table.scale * score.mean, score.n, table.scale * score.low, table.scale * score.high, scores)


def _count(column: Column, summary: Summary, rows: Sequence[Row]) -> float | None:
    if column.count == "lm_calls":
        return summary.total.cost["lm_calls"]
    spent = costs(rows, summary.manifest)
    return spent.iterations if column.count == "iterations" else spent.passages


def _reported(field: str, rows: Sequence[Row]) -> float | None:
    """The mean of a field of the program's result; None where a question lacks it."""
    values = [report.get(field) for report in reported(rows)]
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None
