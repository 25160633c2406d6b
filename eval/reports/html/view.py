"""What the page shows above its list of questions, as values; `report.html` puts them on the page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.figures.comparison import Comparison, Difference, compare
from eval.figures.costs import Costs, costs
from eval.figures.summary import Figures, Score, Summary, summarise
from eval.reports.formats import CostLine, cost_lines, cost_notes, heading, interval, p_value, percent, signed_percent
from eval.reports.html.drawing import Bar, Chart, Point, bar, chart, front
from eval.runs.ceiling import Standing, label, meaning, standing
from eval.runs.record import Row
from eval.runs.store import Run

__all__ = ["View", "view"]

_COSTS = {
    "LM calls": ("lm_calls",),
    "tokens": ("input_tokens", "output_tokens"),
    "US dollars": ("usd",),
    "searches": ("searches",),
    "seconds": ("seconds",),
}
_AXES = ("LM calls", "tokens", "US dollars", "seconds")
_ABSENT = "–"


@dataclass(frozen=True, slots=True)
class ScoreView:
    """The mean of a metric with its interval."""

    mean: str
    interval: str
    bar: Bar | None
    """None where no question has the metric."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """The figures of the questions of one type in one run."""

    run: str
    n: int
    failed: int
    unparsable: int
    scores: dict[str, ScoreView]
    lm_calls: str
    seconds: str


@dataclass(frozen=True, slots=True)
class RunView:
    """A run; its figures are of the questions that all runs on the page asked."""

    short: str
    """R1, R2 …; empty where there is only one run."""
    name: str
    """The short name, the program, and whether it is a ceiling or a floor."""
    title: str
    """The short name and the program."""
    best_of: bool
    about: list[str]
    """What sets it apart: its LM, its retriever, and the settings that other runs have with other values."""
    directory: str
    complete: bool
    state: str
    """Whether it is complete, in words, and why not."""
    errors: list[str]
    n: int
    left_out: int
    """How many of its questions are left out because not all runs asked them."""
    outcomes: dict[str, int]
    """How many questions are right, wrong and not scored by the first metric; empty where there is no metric."""
    failed: int
    unparsable: int
    spent: dict[str, str]
    """Costs per question by their names, those of `View.costs`."""
    scores: dict[str, ScoreView]
    cost_lines: list[CostLine]
    cost_notes: list[str]


@dataclass(frozen=True, slots=True)
class ChartView:
    chart: Chart
    caption: str


@dataclass(frozen=True, slots=True)
class DifferenceView:
    """A run less another by one metric."""

    name: str
    n: int
    mean: str
    interval: str
    bar: Bar
    p: str
    corrected: str


@dataclass(frozen=True, slots=True)
class DifferencesView:
    """The differences by one metric."""

    axis: str
    """The ends of the axis of the bars."""
    overall: list[DifferenceView]
    by_type: list[DifferenceView]


@dataclass(frozen=True, slots=True)
class SetupLine:
    """An entry of the manifests."""

    name: str
    values: list[str]
    """One per run."""

    @property
    def same(self) -> bool:
        """Whether all runs have the same value."""
        return len(set(self.values)) == 1


@dataclass(frozen=True, slots=True)
class View:
    """The page. Mappings by metric have the names in `metrics` as their keys."""

    title: str
    metrics: dict[str, str]
    """Headings by name."""
    costs: list[str]
    runs: list[RunView]
    shared: int
    """How many questions all runs asked."""
    types: dict[str, list[GroupView]]
    """By type of question, one entry per run."""
    charts: dict[str, list[ChartView]]
    kinds: list[tuple[str, str]]
    """The sign and the meaning of each kind of mark on the charts."""
    unknown_costs: dict[str, list[str]]
    """For each cost the runs for which it is not known, where there are any."""
    differences: dict[str, DifferencesView]
    setup: list[SetupLine]

    @property
    def several(self) -> bool:
        return len(self.runs) > 1


@dataclass(frozen=True, slots=True)
class _Source:
    """What a run's view is made from."""

    short: str
    run: Run
    rows: list[Row]
    summary: Summary
    costs: Costs

    @property
    def standing(self) -> Standing:
        return standing(self.run.manifest.lm or "")


def view(runs: Sequence[Run]) -> View:
    """What the page shows of one run, or of several that are compared.

    Raises:
        UsageError: the runs cannot be compared.
    """
    comparison = compare(runs) if len(runs) > 1 else None
    shared = set.intersection(*({row.id for row in run.rows} for run in runs))
    sources = []
    for n, run in enumerate(runs):
        rows = [row for row in run.rows if row.id in shared]
        summary = comparison.runs[n].summary if comparison else summarise(rows, len(rows), run.manifest)
        short = f"R{n + 1}" if comparison else ""
        sources.append(_Source(short, run, rows, summary, costs(rows, run.manifest)))
    metrics = comparison.metrics if comparison else list(sources[0].summary.total.scores)
    setup = _setup(sources)
    compared = sources if comparison else []
    signs: dict[Standing, str] = {"": "●", "ceiling": "△", "floor": "▽"}
    kinds = dict.fromkeys(source.standing for source in compared)
    unknown = {axis: [s.short for s in compared if _cost(s.summary.total, axis) is None] for axis in _AXES}
    return View(
        title=_title(sources),
        metrics={name: heading(name) for name in metrics},
        costs=list(_COSTS),
        runs=[_run(n, source, metrics, setup) for n, source in enumerate(sources)],
        shared=len(shared),
        types={type_: [_group(s, type_, metrics) for s in sources] for type_ in sources[0].summary.by_type},
        charts={name: _charts(compared, name) for name in metrics if comparison},
        kinds=[(signs[kind], meaning(kind)) for kind in kinds],
        unknown_costs={axis: names for axis, names in unknown.items() if names},
        differences={name: _differences(comparison, name, sources) for name in metrics if comparison},
        setup=setup,
    )


def _run(n: int, source: _Source, metrics: Sequence[str], setup: Sequence[SetupLine]) -> RunView:
    run, total = source.run, source.summary.total
    title = f"{source.short} {run.manifest.program or run.name}".strip()
    best = f", best of {len(run.manifest.best_of)}" if run.manifest.best_of else ""
    asked, rows = run.manifest.asked, len(run.rows)
    questions = f"{rows} questions" if rows == asked else f"{rows} of {asked} questions"
    outcomes = Counter(_outcome(row, metrics[0]) for row in source.rows) if metrics else Counter()
    return RunView(
        short=source.short,
        name=f"{title}{best}{f', {source.standing}' if source.standing else ''}",
        title=title,
        best_of=bool(run.manifest.best_of),
        about=_about(n, source, setup),
        directory=run.name,
        complete=run.gap is None,
        state=f"complete: {questions}" if run.gap is None else f"incomplete: {questions}; {run.gap}",
        errors=[str(row.error) for row in run.rows if row.error is not None],
        n=total.n,
        left_out=len(run.rows) - len(source.rows),
        outcomes={name: outcomes[name] for name in ("right", "wrong", "not scored")} if metrics else {},
        failed=total.failed,
        unparsable=total.unparsable,
        spent={name: _amount(total, name) for name in _COSTS},
        scores={name: _score(total.scores[name], total.n) for name in metrics},
        cost_lines=cost_lines(source.costs),
        cost_notes=cost_notes(source.costs),
    )


def _about(n: int, source: _Source, setup: Sequence[SetupLine]) -> list[str]:
    manifest = source.run.manifest
    about = [f"best of {len(manifest.best_of)}"] if manifest.best_of else []
    about += [f"LM {label(manifest.lm)}"] if manifest.lm else []
    about += [f"retriever {manifest.retriever}"] if manifest.retriever else []
    about += [f"compiled state {manifest.state.get('file')}"] if manifest.state else []
    for line in setup:
        setting = line.name.startswith(("settings.", "temperature"))
        if setting and len(set(line.values) - {_ABSENT}) > 1 and line.values[n] != _ABSENT:
            about.append(f"{line.name.removeprefix('settings.')} {line.values[n]}")
    return about


def _outcome(row: Row, metric: str) -> str:
    if row.error is not None:
        return "failed"
    if metric not in row.scores:
        return "not scored"
    return "right" if row.scores[metric] == 1 else "wrong"


def _group(source: _Source, type_: str, metrics: Sequence[str]) -> GroupView:
    figures = source.summary.by_type[type_]
    return GroupView(
        run=source.short,
        n=figures.n,
        failed=figures.failed,
        unparsable=figures.unparsable,
        scores={name: _score(figures.scores.get(name), figures.n) for name in metrics},
        lm_calls=_amount(figures, "LM calls"),
        seconds=_amount(figures, "seconds"),
    )


def _score(score: Score | None, n: int) -> ScoreView:
    if score is None:
        return ScoreView(_ABSENT, "", None)
    return ScoreView(percent(score, n), interval(score.low, score.high), bar(score.mean, score.low, score.high))


def _charts(sources: Sequence[_Source], metric: str) -> list[ChartView]:
    charts = []
    for axis in _AXES:
        points = []
        for source in sources:
            score, cost = source.summary.total.scores[metric], _cost(source.summary.total, axis)
            if cost is not None:
                points.append(Point(source.short, source.standing, cost, score.mean, score.low, score.high))
        if points:
            drawn = chart(points, across=f"{axis} per question", up=heading(metric))
            charts.append(ChartView(drawn, f"{heading(metric)} against {axis}.{_fronts(points)}"))
    return charts


def _fronts(points: Sequence[Point]) -> str:
    text = ""
    for kind in dict.fromkeys(point.kind for point in points):
        alike = [point for point in points if point.kind == kind]
        if len(alike) > 1:
            of = f" of {kind}s" if kind else ""
            text += f" Front{of}: {', '.join(point.name for point in front(alike))}."
    return text


def _differences(comparison: Comparison, metric: str, sources: Sequence[_Source]) -> DifferencesView:
    short = {source.run.name: source.short for source in sources}
    found = [d for d in comparison.differences if d.metric == metric]
    widest = max((abs(end) for d in found for end in (d.low, d.high)), default=0.0)
    most = max(0.1, -(-widest * 10 // 1) / 10)  # up to the next 10 percent
    return DifferencesView(
        axis=f"{-100 * most:.0f} to {100 * most:+.0f}",
        overall=[_difference(d, short, most) for d in found if d.type is None],
        by_type=[_difference(d, short, most) for d in found if d.type is not None],
    )


def _difference(difference: Difference, short: Mapping[str, str], most: float) -> DifferenceView:
    pair = f"{short[difference.first]} − {short[difference.second]}"
    return DifferenceView(
        name=f"{difference.type}: {pair}" if difference.type else pair,
        n=difference.n,
        mean=signed_percent(difference.mean),
        interval=interval(difference.low, difference.high, "+"),
        bar=bar(difference.mean, difference.low, difference.high, least=-most, most=most),
        p=p_value(difference.p),
        corrected=p_value(difference.p_corrected) + (" *" if difference.p_corrected < 0.05 else ""),
    )


def _title(sources: Sequence[_Source]) -> str:
    programs = list(dict.fromkeys(source.run.manifest.program or "a program" for source in sources))
    named = ", ".join(programs) if len(programs) <= 3 else f"{len(sources)} runs"
    return f"{named} on {(sources[0].run.manifest.task or 'questions').rpartition('/')[2]}"


def _setup(sources: Sequence[_Source]) -> list[SetupLine]:
    """Every entry of any manifest, and its value in each run."""
    flat = [_flat(source.run.manifest.entries()) for source in sources]
    names = dict.fromkeys(name for entries in flat for name in entries)
    return [SetupLine(name, [_setting(name, entries) for entries in flat]) for name in names]


def _setting(name: str, entries: Mapping[str, str]) -> str:
    value = entries.get(name, _ABSENT)
    return label(value) if name == "lm" else value


def _flat(value: Any, name: str = "") -> dict[str, str]:
    """The entries of a manifest as text, by their names; the names inside an entry follow its name and a dot."""
    if isinstance(value, dict) and value:
        return {path: text for key, item in value.items() for path, text in _flat(item, f"{name}.{key}").items()}
    name = name.removeprefix(".")
    if name == "best_of":
        return {name: f"{len(value)} runs"}
    if isinstance(value, list):
        return {name: ", ".join(map(str, value)) or "none"}
    return {name: "none" if value is None or value == {} else str(value)}


def _cost(figures: Figures, name: str) -> float | None:
    """Per question; None where it is not known."""
    parts = [figures.cost.get(part) for part in _COSTS[name]]
    return None if None in parts else sum(part for part in parts if part is not None)


def _amount(figures: Figures, name: str) -> str:
    cost = _cost(figures, name)
    if cost is None:
        return "unknown"
    return f"{cost:.6f}" if name == "US dollars" else f"{cost:,.0f}" if name == "tokens" else f"{cost:,.2f}"
