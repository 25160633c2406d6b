"""What the page shows above its list of questions, as values; `report.html` puts them on the page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from eval.figures.comparison import Comparison, compare
from eval.figures.settings import Setting, settings
from eval.records.run import Run
from eval.reports.formats import heading, passages_lines, passages_warning
from eval.reports.html import tables
from eval.reports.html.drawing import Drawing, Point, chart, front
from eval.reports.html.shown_run import ShownRun, about, cost, shown_runs
from eval.reports.html.tables import Table
from eval.reports.verdict import of_one, verdict
from retrieval.indexes import Progress

__all__ = ["Chart", "Section", "View", "view"]

_AXES = ("LM calls", "tokens", "US dollars", "seconds")


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing of scores against a cost."""

    id: str
    drawing: Drawing
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page, before the list of questions."""

    id: str
    title: str
    by_metric: Mapping[str, Sequence[Table | Chart]] = field(default_factory=dict)
    """What it shows by the metric that is chosen."""
    tables: Sequence[Table] = ()
    """What it shows by whichever metric."""


@dataclass(frozen=True, slots=True)
class View:
    """The page."""

    title: str
    verdict: str
    """What the runs come to, in a sentence; empty where there is nothing to say."""
    runs: list[ShownRun]
    about: list[list[str]]
    """What sets each run apart."""
    metrics: dict[str, str]
    """The headings of the metrics, by name."""
    sections: list[Section]
    unlike: list[Table]
    """What differs between the runs, settings and passages, if anything does."""
    warning: str | None
    """Where some runs rest on far more passages than others."""
    unknown_costs: dict[str, list[str]]
    """For each cost the runs for which it is not known, where there are any."""

    @property
    def several(self) -> bool:
        return len(self.runs) > 1

    @property
    def parts(self) -> list[Table | Chart]:
        """All tables and drawings on the page."""
        found: list[Table | Chart] = [*self.unlike]
        for section in self.sections:
            found += [*section.tables, *(part for parts in section.by_metric.values() for part in parts)]
        return found


def view(runs: Sequence[Run], title: str | None = None, progress: Progress = lambda parts, desc: parts) -> View:
    """What the page shows of one run, or of several that are compared.

    Args:
        runs: At least one.
        title: Of the page; by default the programs and the task.
        progress: See `eval.figures.comparison.compare`.

    Raises:
        UsageError: the runs cannot be compared, or the passages of one cannot be read.
    """
    comparison = compare(runs, progress=progress) if len(runs) > 1 else None
    shown = shown_runs(runs, comparison, progress)
    metrics = comparison.metrics if comparison else list(shown[0].summary.total.scores)
    entries = settings([run.manifest for run in runs])
    unlike = [*comparison.differing, *passages_lines(comparison.runs)] if comparison else []
    unknown = {axis: [run.short for run in shown if cost(run.summary.total, axis) is None] for axis in _AXES}
    names = [run.name for run in shown]
    return View(
        title=title or _title(shown),
        verdict=verdict(comparison) if comparison else _verdict(shown[0]),
        runs=shown,
        about=[about(run, entries) for run in shown],
        metrics={name: heading(name) for name in metrics},
        sections=_sections(shown, metrics, comparison, entries),
        unlike=[tables.setup("unlike", "What differs between the runs", names, unlike)] if unlike else [],
        warning=passages_warning(comparison.runs) if comparison else None,
        unknown_costs={axis: of for axis, of in unknown.items() if of},
    )


def _sections(
    runs: Sequence[ShownRun], metrics: Sequence[str], comparison: Comparison | None, entries: Sequence[Setting]
) -> list[Section]:
    def by_metric(make: Callable[[str], Sequence[Table | Chart]]) -> dict[str, Sequence[Table | Chart]]:
        return {metric: make(metric) for metric in metrics}

    same, other = ([entry for entry in entries if entry.same is alike] for alike in (True, False))
    names = [run.name for run in runs]
    scores = [] if comparison or not metrics else [tables.scores_of_one(runs[0], metrics)]
    setup = [tables.setup("setup-of-all", "What was run", ["value"], same)]
    if comparison:
        of_all = tables.setup("setup-of-all", "The same in all runs", ["value"], same, folded="entries")
        setup = [tables.setup("setup-of-runs", "What was run", names, other), of_all]
    sections = [
        Section("results", "Results", by_metric(lambda metric: tables.results(runs, metric)), scores),
        Section("why", "Why wrong", by_metric(lambda metric: tables.reasons(runs, metric))),
    ]
    if comparison:
        sections.append(Section("against", "Accuracy against cost", by_metric(lambda metric: _charts(runs, metric))))
        differences = by_metric(lambda metric: tables.differences(comparison, metric, runs))
        sections.append(Section("differences", "Differences", differences))
    if runs[0].summary.by_type:
        sections.append(Section("types", "By question type", by_metric(lambda metric: [tables.types(runs, metric)])))
    sections.append(Section("costs", "Cost by predictor", tables=[tables.costs(run) for run in runs]))
    return [*sections, Section("setup", "What was run", tables=setup)]


def _verdict(run: ShownRun) -> str:
    total = run.summary.total
    return of_one(run.title, total, next(iter(total.scores))) if total.scores else ""


def _charts(runs: Sequence[ShownRun], metric: str) -> list[Chart]:
    charts = []
    for axis in _AXES:
        points = []
        for run in runs:
            score, spent = run.summary.total.scores[metric], cost(run.summary.total, axis)
            if spent is not None:
                points.append(Point(run.short, run.number, run.standing, spent, score.mean, score.low, score.high))
        if any(point.cost for point in points):
            drawing = chart(points, across=f"{axis} per question", up=heading(metric))
            caption = f"{heading(metric)} against {axis}.{_fronts(points)}"
            charts.append(Chart(f"chart-{metric}-{axis.replace(' ', '-')}", drawing, caption))
    return charts


def _fronts(points: Sequence[Point]) -> str:
    text = ""
    for kind in dict.fromkeys(point.kind for point in points):
        alike = [point for point in points if point.kind == kind]
        if len(alike) > 1:
            of = f" of {kind}s" if kind else ""
            text += f" Front{of}: {', '.join(point.name for point in front(alike))}."
    return text


def _title(runs: Sequence[ShownRun]) -> str:
    programs = list(dict.fromkeys(run.run.manifest.program or "a program" for run in runs))
    named = ", ".join(programs) if len(programs) <= 3 else f"{len(runs)} runs"
    return f"{named} on {(runs[0].run.manifest.task or 'questions').rpartition('/')[2]}"
