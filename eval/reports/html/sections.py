"""What stands in the tables of the page, section by section."""

from collections.abc import Mapping, Sequence

from eval.figures.comparison import Comparison, Difference
from eval.figures.outcomes import REASONS, Reason, breakdown
from eval.figures.settings import Setting
from eval.figures.summary import Figures, Score
from eval.reports.formats import COST_COLUMNS, cost_lines, heading, interval, p_value, percent, signed_percent
from eval.reports.html.drawing import Axis, axis, bar
from eval.reports.html.source import COSTS, Source, amount
from eval.reports.html.tables import Cell, Column, Filter, Line, Table

__all__ = ["costs", "differences", "reasons", "results", "scores", "scores_of_one", "setup", "types"]

_PERCENT = axis(0.0, 1.0)
_PLOT, _INTERVAL = Column("", _PERCENT), Column("95 % interval")


def results(sources: Sequence[Source], metric: str) -> Table:
    """How many questions of each run are right and wrong by the metric, and what they cost."""
    lines = []
    for source in sources:
        found = breakdown(source.rows, metric, source.reasons)
        wrong = source.summary.total.n - found["right"] - found["not scored"] - found["failed"]
        total = source.summary.total
        counts = [total.n, found["right"], wrong, found["not scored"], found["failed"], total.unparsable]
        lines.append(_line_of(source, [*map(str, counts), *(amount(total, name) for name in COSTS)]))
    heads = ["questions", f"right ({heading(metric)} 1)", "wrong", "not scored", "failed", "unparsable", *COSTS]
    return _table(f"results-{metric}", f"Results by {heading(metric)}", "run", heads, lines)


def scores(sources: Sequence[Source], metric: str) -> Table:
    """The score of each run by the metric."""
    lines = [_line_of(s, _score(s.summary.total.scores[metric], s.summary.total.n)) for s in sources]
    return Table(
        f"scores-{metric}",
        heading(metric),
        (Column("run"), _PLOT, Column(heading(metric)), _INTERVAL),
        tuple(lines),
    )


def scores_of_one(source: Source, metrics: Sequence[str]) -> Table:
    """The scores of a run by each metric."""
    total = source.summary.total
    lines = tuple(Line(heading(name), tuple(_score(total.scores[name], total.n))) for name in metrics)
    return Table("scores", "Scores", (Column("metric"), _PLOT, Column("score"), _INTERVAL), lines)


def reasons(sources: Sequence[Source], metric: str) -> Table | None:
    """Why the wrong questions of each run are wrong; None where none is."""
    found = [breakdown(source.rows, metric, source.reasons) for source in sources]
    lines = [
        Line(
            reason,
            tuple(
                Cell(
                    f"{counts[reason]} ({100 * counts[reason] / max(1, counts.total()):.1f})", None, Filter(reason, run)
                )
                if counts[reason]
                else Cell("0")
                for run, counts in enumerate(found)
            ),
        )
        for reason in REASONS
        if any(counts[reason] for counts in found)
    ]
    heads = [source.name for source in sources] if len(sources) > 1 else ["questions (%)"]
    return _table(f"reasons-{metric}", f"Why wrong by {heading(metric)}", "why wrong", heads, lines) if lines else None


def differences(comparison: Comparison, metric: str, sources: Sequence[Source]) -> tuple[Table, Table | None]:
    """The differences by the metric over all questions, and those by type, if there are types."""
    found = [d for d in comparison.differences if d.metric == metric]
    widest = max((abs(end) for d in found for end in (d.low, d.high)), default=0.0)
    most = max(0.1, -(-widest * 10 // 1) / 10)  # up to the next 10 percent
    on = axis(-most, most, signed=True)
    short = {source.run.name: source.short for source in sources}
    tables = [
        _differences(f"differences-{by}-{metric}", f"Differences in {heading(metric)}{of}", chosen, short, on)
        for by, of, chosen in (
            ("all", "", [d for d in found if d.type is None]),
            ("types", " by question type", [d for d in found if d.type is not None]),
        )
    ]
    return tables[0], tables[1] if tables[1].lines else None


def types(sources: Sequence[Source], metric: str) -> Table:
    """The figures of each type of question."""
    several = len(sources) > 1
    lines = []
    for type_ in sources[0].summary.by_type:
        for source in sources:
            of_type = source.summary.by_type[type_]
            counts = [of_type.n, of_type.failed, of_type.unparsable]
            plot, *scores = _score_or_none(of_type, metric)
            cells = [
                *([Cell(source.short)] if several else []),
                plot,
                *(Cell(str(count)) for count in counts),
                *scores,
                *(Cell(amount(of_type, cost)) for cost in ("LM calls", "seconds")),
            ]
            lines.append(
                Line(type_, tuple(cells), run=source.number if several else None, hollow=bool(source.standing))
            )
    first = ["type", "run"] if several else ["type"]
    columns = ["n", "failed", "unparsable", heading(metric), "95 % interval", "LM calls", "seconds"]
    return Table(
        f"types-{metric}",
        f"{heading(metric)} by question type",
        (*map(Column, first), _PLOT, *map(Column, columns)),
        tuple(lines),
    )


def costs(source: Source) -> Table:
    """What a run cost, by predictor and in total."""
    lines = [Line(line.label, tuple(map(Cell, line.cells)), line.part) for line in cost_lines(source.costs)]
    caption = f"Cost of {source.name}" if source.short else "Cost"
    return _table(f"costs-{source.number}", caption, "spent", COST_COLUMNS, lines)


def setup(id_: str, caption: str, heads: Sequence[str], entries: Sequence[Setting]) -> Table:
    """Entries of the manifests with the values of the first so many runs as there are headings."""
    lines = [Line(entry.name, tuple(map(Cell, entry.values[: len(heads)]))) for entry in entries]
    return Table(id_, caption, (Column("setting"), *map(Column, heads)), tuple(lines), words=True)


def _share(reason: Reason, count: int, n: int, run: int) -> Cell:
    return Cell(f"{count} ({100 * count / n:.1f})", filter=Filter(reason, run)) if count else Cell("0")


def _table(id_: str, caption: str, first: str, heads: Sequence[str], lines: Sequence[Line]) -> Table:
    return Table(id_, caption, (Column(first), *map(Column, heads)), tuple(lines))


def _line_of(source: Source, cells: Sequence[str | Cell]) -> Line:
    made = tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells)
    return Line(source.name, made, run=source.number if source.short else None, hollow=bool(source.standing))


def _score(score: Score, n: int) -> list[Cell]:
    low, high = score.low, score.high
    return [Cell(bar=bar(score.mean, low, high, _PERCENT)), Cell(percent(score, n)), Cell(interval(low, high))]


def _score_or_none(figures: Figures, metric: str) -> list[Cell]:
    score = figures.scores.get(metric)
    return [Cell(), Cell("–"), Cell()] if score is None else _score(score, figures.n)


def _differences(id_: str, caption: str, found: Sequence[Difference], short: Mapping[str, str], on: Axis) -> Table:
    lines = []
    for d in found:
        pair = f"{short[d.first]} − {short[d.second]}"
        cells = [
            Cell(bar=bar(d.mean, d.low, d.high, on)),
            Cell(str(d.n)),
            Cell(signed_percent(d.mean)),
            Cell(interval(d.low, d.high, "+")),
            Cell(p_value(d.p)),
            Cell(p_value(d.p_corrected) + (" *" if d.p_corrected < 0.05 else "")),
        ]
        lines.append(Line(f"{d.type}: {pair}" if d.type else pair, tuple(cells)))
    heads = (Column("pair"), Column("", on), Column("n"), Column("difference"), _INTERVAL)
    return Table(id_, caption, (*heads, Column("p"), Column("corrected")), tuple(lines))
