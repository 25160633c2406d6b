"""What the page shows above its list of questions, as values; `report.html` puts them on the page."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.figures.comparison import Comparison, compare
from eval.figures.settings import ABSENT, Setting, settings
from eval.records.run import Run
from eval.records.standing import label
from eval.reports.formats import cost_notes, heading, passages_lines, passages_warning
from eval.reports.html import sections
from eval.reports.html.drawing import Chart, Point, chart, front
from eval.reports.html.source import Source, cost, sources
from eval.reports.html.tables import Table
from eval.reports.verdict import of_one, verdict
from retrieval.indexes import Progress

__all__ = ["ChartView", "RunView", "View", "view"]

_AXES = ("LM calls", "tokens", "US dollars", "seconds")


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as the head of the page has it."""

    number: int
    """From 0."""
    short: str
    """As `eval.figures.comparison.Compared.short`; empty where there is only one run."""
    name: str
    """The title, and whether it is a ceiling or a floor."""
    title: str
    """The short name, or of one run the program."""
    hollow: bool
    """Whether it is a ceiling or a floor."""
    best_of: bool
    about: list[str]
    """What sets it apart: its LM, its retriever, and the settings that other runs have with other values."""
    directory: str
    complete: bool
    state: str
    """Whether it is complete, in words, and why not."""
    errors: list[str]
    left_out: int
    """How many of its questions are left out because not all runs asked them."""
    costs: Table
    cost_notes: list[str]


@dataclass(frozen=True, slots=True)
class ChartView:
    id: str
    chart: Chart
    caption: str


@dataclass(frozen=True, slots=True)
class MetricView:
    """What the page shows by the metric that is chosen."""

    name: str
    heading: str
    results: Table
    scores: Table | None
    """Of each run; None where there is only one, whose scores stand in one table."""
    reasons: Table | None
    """Why wrong; None where no question is."""
    charts: list[ChartView]
    differences: Table | None
    differences_by_type: Table | None
    types: Table | None

    @property
    def tables(self) -> list[Table]:
        found = (self.results, self.scores, self.reasons, self.differences, self.differences_by_type, self.types)
        return [table for table in found if table]


@dataclass(frozen=True, slots=True)
class View:
    """The page."""

    title: str
    verdict: str
    """What the runs come to, in a sentence; empty where there is nothing to say."""
    sources: list[Source]
    """What it is made from."""
    runs: list[RunView]
    shared: int
    """How many questions all runs asked."""
    metrics: list[MetricView]
    scores: Table | None
    """By each metric, where there is only one run."""
    types: list[str]
    unlike: Table | None
    """What differs between the runs, settings and passages; None where nothing does."""
    warning: str | None
    """Where some runs rest on far more passages than others."""
    unknown_costs: dict[str, list[str]]
    """For each cost the runs for which it is not known, where there are any."""
    setup: Table
    setup_of_all: Table | None
    """What is the same in several runs."""

    @property
    def several(self) -> bool:
        return len(self.runs) > 1

    @property
    def tables(self) -> list[Table]:
        """All tables on the page."""
        rest = (self.scores, self.unlike, *(run.costs for run in self.runs), self.setup, self.setup_of_all)
        return [table for metric in self.metrics for table in metric.tables] + [table for table in rest if table]


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
    made = sources(runs, comparison, progress)
    metrics = comparison.metrics if comparison else list(made[0].summary.total.scores)
    entries = settings([run.manifest for run in runs])
    compared = made if comparison else []
    unknown = {axis: [s.short for s in compared if cost(s.summary.total, axis) is None] for axis in _AXES}
    differing, same = ([entry for entry in entries if entry.same is alike] for alike in (False, True))
    names = [source.name for source in made]
    caption = "The same in all runs" if comparison else "What was run"
    setup_of_all = sections.setup("setup-of-all", caption, ["value"], same)
    return View(
        title=title or _title(made),
        verdict=verdict(comparison) if comparison else _verdict(made[0]),
        sources=made,
        runs=[_run(source, entries) for source in made],
        shared=len(made[0].rows),
        metrics=[_metric(name, made, comparison) for name in metrics],
        scores=None if comparison or not metrics else sections.scores_of_one(made[0], metrics),
        types=list(made[0].summary.by_type),
        unlike=_unlike(comparison, names),
        warning=passages_warning(comparison.runs) if comparison else None,
        unknown_costs={axis: of for axis, of in unknown.items() if of},
        setup=sections.setup("setup-of-runs", "What was run", names, differing) if comparison else setup_of_all,
        setup_of_all=setup_of_all if comparison else None,
    )


def _verdict(source: Source) -> str:
    total = source.summary.total
    return of_one(source.title, total, next(iter(total.scores))) if total.scores else ""


def _metric(name: str, made: Sequence[Source], comparison: Comparison | None) -> MetricView:
    overall, by_type = sections.differences(comparison, name, made) if comparison else (None, None)
    return MetricView(
        name=name,
        heading=heading(name),
        results=sections.results(made, name),
        scores=sections.scores(made, name) if comparison else None,
        reasons=sections.reasons(made, name),
        charts=_charts(made, name) if comparison else [],
        differences=overall,
        differences_by_type=by_type,
        types=sections.types(made, name) if made[0].summary.by_type else None,
    )


def _run(source: Source, entries: Sequence[Setting]) -> RunView:
    run = source.run
    asked, rows = run.manifest.asked, len(run.rows)
    questions = f"{rows} questions" if rows == asked else f"{rows} of {asked} questions"
    return RunView(
        number=source.number,
        short=source.short,
        name=source.name,
        title=source.title,
        hollow=bool(source.standing),
        best_of=bool(run.manifest.best_of),
        about=_about(source, entries),
        directory=run.name,
        complete=run.gap is None,
        state=f"complete: {questions}" if run.gap is None else f"incomplete: {questions}; {run.gap}",
        errors=[str(row.error) for row in run.rows if row.error is not None],
        left_out=len(run.rows) - len(source.rows),
        costs=sections.costs(source),
        cost_notes=cost_notes(source.costs),
    )


def _about(source: Source, entries: Sequence[Setting]) -> list[str]:
    manifest = source.run.manifest
    about = [f"best of {len(manifest.best_of)}"] if manifest.best_of else []
    about += [f"LM {label(manifest.lm)}"] if manifest.lm else []
    about += [f"retriever {manifest.retriever}"] if manifest.retriever else []
    about += [f"compiled state {manifest.state.get('file')}"] if manifest.state else []
    rescored = manifest.entries().get("rescored")
    about += [f"rescored from {rescored['run']}"] if rescored else []
    for entry in entries:
        setting, value = entry.name.startswith(("settings.", "temperature")), entry.values[source.number]
        if setting and len(set(entry.values) - {ABSENT}) > 1 and value != ABSENT:
            about.append(f"{entry.name.removeprefix('settings.')} {value}")
    return about


def _unlike(comparison: Comparison | None, names: Sequence[str]) -> Table | None:
    if comparison is None:
        return None
    lines = [*comparison.differing, *passages_lines(comparison.runs)]
    return sections.setup("unlike", "What differs between the runs", names, lines) if lines else None


def _charts(made: Sequence[Source], metric: str) -> list[ChartView]:
    charts = []
    for axis in _AXES:
        points = []
        for source in made:
            score, spent = source.summary.total.scores[metric], cost(source.summary.total, axis)
            if spent is not None:
                place = (spent, score.mean, score.low, score.high)
                points.append(Point(source.short, source.number, source.standing, *place))
        if any(point.cost for point in points):
            drawn = chart(points, across=f"{axis} per question", up=heading(metric))
            id_ = f"chart-{metric}-{axis.replace(' ', '-')}"
            charts.append(ChartView(id_, drawn, f"{heading(metric)} against {axis}.{_fronts(points)}"))
    return charts


def _fronts(points: Sequence[Point]) -> str:
    text = ""
    for kind in dict.fromkeys(point.kind for point in points):
        alike = [point for point in points if point.kind == kind]
        if len(alike) > 1:
            of = f" of {kind}s" if kind else ""
            text += f" Front{of}: {', '.join(point.name for point in front(alike))}."
    return text


def _title(made: Sequence[Source]) -> str:
    programs = list(dict.fromkeys(source.run.manifest.program or "a program" for source in made))
    named = ", ".join(programs) if len(programs) <= 3 else f"{len(made)} runs"
    return f"{named} on {(made[0].run.manifest.task or 'questions').rpartition('/')[2]}"
