"""The tables of the page: `tables.html` puts them on it, `files.py` writes them as Markdown and LaTeX."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.figures.comparison import Comparison, Difference
from eval.figures.outcomes import REASONS, Reason, breakdown
from eval.figures.settings import Setting
from eval.figures.summary import Figures
from eval.reports.formats import (
    COST_COLUMNS,
    cost_lines,
    cost_notes,
    heading,
    interval,
    p_value,
    percent,
    signed_percent,
)
from eval.reports.html.drawing import Axis, Drawing, Interval, forest
from eval.reports.html.shown_run import COSTS, ShownRun, amount

__all__ = [
    "Cell", "Filter", "Line", "Table", "costs", "differences", "reasons", "results", "scores_of_one", "setup", "types",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filter:
    """A number of questions; a click on it lists them."""

    text: str
    outcome: Reason
    run: int
    """The number of the run, from 0."""


Cell = str | Filter | Interval
"""What stands in a line under a heading, or, under an axis, the interval that is drawn on it ("" for none)."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a table."""

    name: str
    cells: Sequence[Cell]
    part: bool = False
    """Whether it is part of the line above it that is not a part."""
    run: int | None = None
    """The number of the run that it is about."""
    hollow: bool = False
    """Whether that run is a ceiling or a floor."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page."""

    id: str
    """Unlike that of any other table or drawing on the page."""
    caption: str
    columns: Sequence[str | Axis]
    """Headings, the first one above the lines' names; and the axes of what is drawn."""
    lines: Sequence[Line]
    words: bool = False
    """Whether the cells are words and not numbers."""
    head: str = ""
    """What stands above it on the page, if anything."""
    notes: Sequence[str] = ()
    """Sentences for beneath it."""
    folded: str = ""
    """What its lines are, of a table that is folded at first."""

    @property
    def drawing(self) -> Drawing | None:
        """Its intervals as a drawing, where it has some."""
        axis = next((column for column in self.columns if isinstance(column, Axis)), None)
        found = [(line, cell) for line in self.lines for cell in line.cells if isinstance(cell, Interval)]
        lines = [(line.name, cell, line.run, line.hollow) for line, cell in found]
        return forest(self.caption, axis, lines) if axis and lines else None

    def texts(self) -> list[list[str]]:
        """The headings and the lines, without what is drawn."""
        shown = [n for n, column in enumerate(self.columns) if isinstance(column, str)]
        lines = [self.columns, *([line.name, *line.cells] for line in self.lines)]
        rows = [[line[n] for n in shown] for line in lines]
        return [[cell.text if isinstance(cell, Filter) else str(cell) for cell in row] for row in rows]


_SHARES = Axis(0.0, 1.0)


def results(runs: Sequence[ShownRun], metric: str) -> list[Table]:
    """How many questions of each run are right and wrong by the metric, and what they cost; of several, the scores."""
    lines = []
    for run in runs:
        found, total = breakdown(run.rows, metric, run.reasons), run.summary.total
        wrong = total.n - found["right"] - found["not scored"] - found["failed"]
        counts = [total.n, found["right"], wrong, found["not scored"], found["failed"], total.unparsable]
        lines.append(_of_run(run, [*map(str, counts), *(amount(total, name) for name in COSTS)]))
    right = f"right ({heading(metric)} 1)"
    columns = ["run", "questions", right, "wrong", "not scored", "failed", "unparsable", *COSTS]
    made = [Table(f"results-{metric}", f"Results by {heading(metric)}", columns, lines)]
    if len(runs) > 1:
        lines = [_of_run(run, _score(run.summary.total, metric)) for run in runs]
        drawn: list[str | Axis] = ["run", _SHARES, heading(metric), "95 % interval"]
        made.append(Table(f"scores-{metric}", heading(metric), drawn, lines))
    return made


def scores_of_one(run: ShownRun, metrics: Sequence[str]) -> Table:
    """The scores of a run by each metric."""
    lines = [Line(heading(name), _score(run.summary.total, name)) for name in metrics]
    return Table("scores", "Scores", ["metric", _SHARES, "score", "95 % interval"], lines)


def reasons(runs: Sequence[ShownRun], metric: str) -> list[Table]:
    """Why the wrong questions of each run are wrong; no table where none is."""
    found = [breakdown(run.rows, metric, run.reasons) for run in runs]

    def cell(reason: Reason, run: int) -> Cell:
        count, n = found[run][reason], found[run].total()
        return Filter(f"{count} ({100 * count / n:.1f})", reason, run) if count else "0"

    there = [reason for reason in REASONS if any(counts[reason] for counts in found)]
    lines = [Line(reason, [cell(reason, run) for run in range(len(runs))]) for reason in there]
    columns = ["why wrong", *([run.name for run in runs] if len(runs) > 1 else ["questions (%)"])]
    return [Table(f"reasons-{metric}", f"Why wrong by {heading(metric)}", columns, lines)] if lines else []


def differences(comparison: Comparison, metric: str, runs: Sequence[ShownRun]) -> list[Table]:
    """The differences by the metric over all questions, and those by type, if there are types."""
    found = [d for d in comparison.differences if d.metric == metric]
    widest = max((abs(end) for d in found for end in (d.low, d.high)), default=0.0)
    most = max(0.1, -(-widest * 10 // 1) / 10)  # up to the next 10 percent
    axis = Axis(-most, most, signed=True)
    columns: list[str | Axis] = ["pair", axis, "n", "difference", "95 % interval", "p", "corrected"]
    short = {run.run.name: run.short for run in runs}

    def line(d: Difference) -> Line:
        pair = f"{short[d.first]} − {short[d.second]}"
        figures = [str(d.n), signed_percent(d.mean), interval(d.low, d.high, "+"), p_value(d.p)]
        corrected = p_value(d.p_corrected) + (" *" if d.p_corrected < 0.05 else "")
        return Line(f"{d.type}: {pair}" if d.type else pair, [Interval(d.mean, d.low, d.high), *figures, corrected])

    caption = f"Differences in {heading(metric)}"
    overall, by_type = ([line(d) for d in found if bool(d.type) is typed] for typed in (False, True))
    made = [Table(f"differences-all-{metric}", caption, columns, overall)]
    if by_type:
        of_types = f"{caption} by question type"
        made.append(Table(f"differences-types-{metric}", of_types, columns, by_type, folded="comparisons"))
    return made


def types(runs: Sequence[ShownRun], metric: str) -> Table:
    """The figures of each type of question."""
    lines = []
    for type_ in runs[0].summary.by_type:
        for run in runs:
            figures = run.summary.by_type[type_]
            drawn, *score = _score(figures, metric)
            counts = [str(count) for count in (figures.n, figures.failed, figures.unparsable)]
            spent = [amount(figures, cost) for cost in ("LM calls", "seconds")]
            lines.append(_of_run(run, [*([run.short] if run.short else []), drawn, *counts, *score, *spent], type_))
    first = ["type", "run"] if len(runs) > 1 else ["type"]
    figures_of_type = ["n", "failed", "unparsable", heading(metric), "95 % interval", "LM calls", "seconds"]
    columns: list[str | Axis] = [*first, _SHARES, *figures_of_type]
    return Table(f"types-{metric}", f"{heading(metric)} by question type", columns, lines)


def costs(run: ShownRun) -> Table:
    """What a run cost, by predictor and in total."""
    lines = [Line(line.label, line.cells, line.part) for line in cost_lines(run.costs)]
    caption, head = (f"Cost of {run.name}", run.name) if run.short else ("Cost", "")
    columns = ["spent", *COST_COLUMNS]
    return Table(f"costs-{run.number}", caption, columns, lines, head=head, notes=cost_notes(run.costs, run.calls))


def setup(id_: str, caption: str, runs: Sequence[str], entries: Sequence[Setting], folded: str = "") -> Table:
    """Entries of the manifests, with the values of the first so many runs as there are headings for them."""
    lines = [Line(entry.name, entry.values[: len(runs)]) for entry in entries]
    return Table(id_, caption, ["setting", *runs], lines, words=True, folded=folded)


def _of_run(run: ShownRun, cells: Sequence[Cell], name: str | None = None) -> Line:
    """A line about a run, with its marker where there are several."""
    return Line(name or run.name, cells, run=run.number if run.short else None, hollow=run.hollow)


def _score(figures: Figures, metric: str) -> list[Cell]:
    """What is drawn of a score, the mean and the interval."""
    score = figures.scores.get(metric)
    if score is None:
        return ["", "–", ""]
    return [Interval(score.mean, score.low, score.high), percent(score, figures.n), interval(score.low, score.high)]
