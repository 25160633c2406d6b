"""A run's figures, or several runs', as plain text."""

from collections.abc import Sequence

from eval.figures.comparison import Compared, Comparison, Difference
from eval.figures.costs import Costs
from eval.figures.summary import Figures, Score, Summary
from eval.runs.ceiling import label
from programs.instruments.cost import Cost, Spent

__all__ = ["align", "comparison_table", "cost_lines", "cost_notes", "cost_table", "heading", "p_value", "table"]

_RUN = ("task", "program", "lm", "retriever")  # what the first line says of the manifest
_HEADINGS = {
    "em": "EM",
    "f1": "F1",
    "recall_passages": "titles found",
    "recall_evidence": "titles kept",
    "recall_passages_by_id": "ids found",
    "recall_evidence_by_id": "ids kept",
}
_COSTS = {"lm_calls": "LM calls", "searches": "searches", "seconds": "seconds"}
_TOKENS = {"input_tokens": "tokens in", "output_tokens": "tokens out"}

_LEGEND = """\
Scores in percent, over all n questions, or the (m) that have a gold one; a failed question counts 0.
Below them their 95 % confidence intervals: Wilson's for scores of 0 and 1 or few that differ, else a bootstrap (BCa).
EM, F1: SQuAD v1.1, the best gold answer. Titles, ids: share of the gold ones found (retrieved) and kept (evidence).
Unparsable: questions with a reply that did not fit. LM calls, searches, seconds: per question, without a judge's."""


_COMPARISON_LEGEND = """\
Means in percent, over all these questions or the (m) for which the metric is defined; a failed question counts 0.
[ , ]: 95 % confidence intervals over questions: Wilson's of scores of 0 and 1, Bonett and Price's of their differences,
else a bootstrap (BCa). p: the randomisation test for pairs, two-sided, which for scores of 0 and 1 is McNemar's exact
test; corrected: for as many comparisons as the table has lines, by Holm's method. LM calls to seconds: per question,
without a judge's; tokens and US dollars as they were when first paid for."""


def table(summary: Summary) -> str:
    """The figures of all questions and of each type, a line each; ends without a line break."""
    metrics = list(summary.total.scores)
    groups = [("all", summary.total), *summary.by_type.items()]
    lines = [["", "n", "failed", "unparsable", *map(heading, metrics), *_COSTS.values()]]
    lines += [_line(name, figures, metrics) for name, figures in groups]
    intervals = [["", *map(heading, metrics)]]
    intervals += [[name, *(_interval(figures.scores.get(m)) for m in metrics)] for name, figures in groups]
    parts = [_about(summary), "", align(lines), "", align(intervals), "", _LEGEND]
    parts += [_judge(name, spent) for name, spent in summary.judges.items()]
    if not summary.complete:
        why = f"; {summary.stopped}" if summary.stopped else ""
        parts.append(f"INCOMPLETE: {summary.total.n} of {summary.questions} questions{why}.")
    if summary.first_error is not None:
        parts.append(f"{summary.total.failed} failed, the first with {summary.first_error}")
    return "\n".join(parts)


def comparison_table(comparison: Comparison) -> str:
    """The runs, their figures by each metric, and the differences; ends without a line break."""
    short = {run.name: f"R{n}" for n, run in enumerate(comparison.runs, 1)}
    lines = [["", "n", "failed", "unparsable", *_COSTS.values(), *_TOKENS.values(), "USD", "left out"]]
    for run in comparison.runs:
        total = run.summary.total
        spent = [*(f"{total.cost[name]:,.0f}" for name in _TOKENS), _usd(total.cost.get("usd"))]
        lines.append([*_counts(short[run.name], total), *_costs(total), *spent, str(run.left_out)])
    parts = [
        f"{short[run.name]}  {run.name}: {', '.join([_about(run.summary), *_own_settings(run, comparison)])}"
        for run in comparison.runs
    ]
    parts += ["", f"{comparison.questions} questions that all runs asked", "", align(lines)]
    for metric in comparison.metrics:
        parts += ["", align(_means(metric, comparison, short))]
        for by_type in (False, True):
            differences = [d for d in comparison.differences if d.metric == metric and bool(d.type) is by_type]
            if differences:
                parts += ["", align(_differences(differences, short))]
    return "\n".join([*parts, "", _COMPARISON_LEGEND])


def cost_table(costs: Costs) -> str:
    """What a run cost, per question and altogether; ends without a line break."""
    return "\n".join([align(cost_lines(costs)), *cost_notes(costs)])


def cost_lines(costs: Costs) -> list[list[str]]:
    """The cells of `cost_table`, line by line, the headings first."""
    total, n = costs.total, max(costs.n, 1)
    lines = [["", "LM calls", "tokens in", "tokens out", "USD", "searches", "seconds"]]
    lines.append([f"per question of {costs.n}", *_spent(total, n)])
    lines += [[f"  {name}", *_spent(spent, n)] for name, spent in total.predictors.items()]
    lines.append(["altogether", *_spent(total, 1)])
    lines.append(["  paid in this run", *_spent(_paid(total), 1)])
    for name, spent in costs.judges.items():
        lines.append([f"besides, {name}", *_spent(spent, 1)])
        lines.append(["  paid in this run", *_spent(_paid(spent), 1)])
    return lines


def cost_notes(costs: Costs) -> list[str]:
    """What `cost_table` says beneath its lines."""
    parts = [f"different passages found per question: {costs.found:.2f}"]
    if costs.iterations is not None:
        parts.append(f"iterations per question: {costs.iterations:.2f}")
    if costs.passages is not None:
        parts.append(f"retrieved passages shown per iteration: {costs.passages:.2f}")
    return parts


def _spent(spent: Spent, n: int) -> list[str]:
    counts = [spent.lm_calls, spent.input_tokens, spent.output_tokens]
    cells = [f"{count / n:,.2f}" if n > 1 else f"{count:,}" for count in counts]
    cells.append(_usd(None if spent.usd is None else spent.usd / n))
    if not isinstance(spent, Cost):
        return [*cells, "", ""]
    return [*cells, f"{spent.searches / n:,.2f}" if n > 1 else f"{spent.searches:,}", f"{spent.seconds / n:,.2f}"]


def _paid(spent: Spent) -> Spent:
    """What of this was paid in the run itself."""
    calls = spent.lm_calls - spent.cached_calls
    return Spent(calls, 0, spent.paid_input_tokens, spent.paid_output_tokens, spent.paid_usd)


def _judge(name: str, spent: Spent) -> str:
    calls, tokens_in, tokens_out, usd = _spent(spent, 1)[:4]
    paid = _paid(spent)
    return (
        f"Besides, {name} cost {calls} LM calls, {tokens_in} tokens in, {tokens_out} out, {usd} USD, its self-test "
        f"included; {paid.lm_calls:,} calls and {_usd(paid.usd)} USD of it were paid in this run."
    )


def _usd(usd: float | None) -> str:
    return "unknown" if usd is None else f"{usd:.6f}"


def _own_settings(run: Compared, comparison: Comparison) -> list[str]:
    """Those settings that another run has with another value."""
    settings, *others = (r.summary.manifest.get("settings", {}) for r in [run, *comparison.runs])
    return [
        f"{name} {value}"
        for name, value in settings.items()
        if any(name in other and other[name] != value for other in others)
    ]


def _means(metric: str, comparison: Comparison, short: dict[str, str]) -> list[list[str]]:
    types = list(comparison.runs[0].summary.by_type)
    lines = [[heading(metric), *(short[run.name] for run in comparison.runs)]]
    for name in (None, *types):
        groups = [run.summary.by_type[name] if name else run.summary.total for run in comparison.runs]
        cells = [f"{_score(figures, metric)} {_interval(figures.scores.get(metric))}".strip() for figures in groups]
        lines.append([name or "all", *cells])
    return lines


def _differences(differences: Sequence[Difference], short: dict[str, str]) -> list[list[str]]:
    lines = [["", "n", "difference", "", "p", "corrected"]]
    for d in differences:
        pair = f"{short[d.first]} - {short[d.second]}"
        low, high = f"{100 * d.low:+.1f}", f"{100 * d.high:+.1f}"
        name = f"{d.type}: {pair}" if d.type else pair
        lines.append([name, str(d.n), f"{100 * d.mean:+.1f}", f"[{low}, {high}]", p_value(d.p), p_value(d.p_corrected)])
    return lines


def _about(summary: Summary) -> str:
    manifest = summary.manifest
    about = [f"{key} {label(manifest[key]) if key == 'lm' else manifest[key]}" for key in _RUN if key in manifest]
    return ", ".join(about + ([f"best of {len(manifest['best_of'])}"] if "best_of" in manifest else []))


def heading(metric: str) -> str:
    """What a metric is called in tables."""
    return _HEADINGS.get(metric, metric)


def _line(name: str, figures: Figures, metrics: Sequence[str]) -> list[str]:
    return [*_counts(name, figures), *(_score(figures, metric) for metric in metrics), *_costs(figures)]


def _counts(name: str, figures: Figures) -> list[str]:
    return [name, str(figures.n), str(figures.failed), str(figures.unparsable)]


def _costs(figures: Figures) -> list[str]:
    return [f"{figures.cost[cost]:.2f}" for cost in _COSTS]


def _score(figures: Figures, metric: str) -> str:
    if metric not in figures.scores:
        return "-"
    score = figures.scores[metric]
    return f"{100 * score.mean:.1f}" + (f" ({score.n})" if score.n < figures.n else "")


def _interval(score: Score | None) -> str:
    return f"[{100 * score.low:.1f}, {100 * score.high:.1f}]" if score else ""


def p_value(p: float) -> str:
    """A p-value as tables have it."""
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def align(lines: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Columns two spaces apart, those with these numbers flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        [cell.ljust(w) if n in left else cell.rjust(w) for n, (cell, w) in enumerate(zip(line, widths, strict=True))]
        for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in padded)
