"""The figures of runs as plain text."""

import textwrap
from collections.abc import Collection, Sequence

from eval.figures.comparison import Comparison, Difference
from eval.figures.costs import Costs
from eval.figures.summary import Figures, Summary
from eval.records.record import PaidCall
from eval.records.standing import label
from eval.reports.formats import (
    COST_COLUMNS,
    COSTS,
    cost_lines,
    cost_notes,
    heading,
    interval,
    p_value,
    paid,
    passages_lines,
    passages_warning,
    percent,
    signed_percent,
    spent_cells,
    usd,
)
from eval.reports.verdict import verdict
from odqa.printable import unbroken
from programs.instruments.cost import Spent

__all__ = ["align", "comparison_table", "cost_table", "filled", "fitted", "table"]

_COSTS = ("lm_calls", "searches", "seconds")
_TOKENS = ("input_tokens", "output_tokens")

_LEGEND = """\
Scores in percent, over all n questions, or over the (m) that have gold for the metric; a failed question counts 0.
Below them their 95 % confidence intervals: Wilson's for scores of 0 and 1 or few that differ, else a bootstrap (BCa).
EM, F1: SQuAD v1.1, the best gold answer. Titles, ids: share of the gold ones found (retrieved) and kept (evidence).
Unparsable: questions with a reply that did not fit. LM calls, searches, seconds: per question, without a judge's."""

_COMPARISON_LEGEND = """\
Means in percent, over all these questions or the (m) for which the metric is defined; a failed question counts 0.
[ , ]: 95 % confidence intervals over questions: Wilson's of scores of 0 and 1, else a bootstrap (BCa). Differences and
their p, two-sided, are of one distribution, the Bayesian bootstrap with one question added on either side: an interval
leaves out 0 where p is below 0.05; for scores of 0 and 1 this is McNemar's mid-p test. Corrected: for as many
comparisons as the table has lines, by Holm's method, so that an interval may leave out 0 where corrected p is above
0.05. All costs are per question, without a judge's; tokens and US dollars as they were when first paid for."""


def table(summary: Summary) -> str:
    """The figures of all questions and of each type, one line each; ends without a line break."""
    metrics = list(summary.total.scores)
    groups = [("all", summary.total), *summary.by_type.items()]
    lines = [["", "n", "failed", "unparsable", *map(heading, metrics), *(COSTS[cost] for cost in _COSTS)]]
    intervals = [["", *map(heading, metrics)]]
    for name, figures in groups:
        lines.append([*_counts(name, figures), *(_score(figures, metric) for metric in metrics), *_costs(figures)])
        intervals.append([name, *(_interval(figures, metric) for metric in metrics)])
    parts = [_about(summary), "", align(lines), "", align(intervals), "", _LEGEND]
    parts += [_judge(name, spent) for name, spent in summary.judges.items()]
    if not summary.complete:
        why = f"; {unbroken(summary.stopped)}" if summary.stopped else ""
        parts.append(f"INCOMPLETE: {summary.total.n} of {summary.questions} questions{why}.")
    if summary.first_error is not None:
        parts.append(f"{summary.total.failed} failed, the first with {unbroken(summary.first_error)}")
    return "\n".join(parts)


def comparison_table(comparison: Comparison, width: int | None = None) -> str:
    """What the runs come to, their figures by each metric, and the differences; ends without a line break.

    Metrics with the same figures stand together. With a width, lines are no longer than that many columns.
    """
    names = [unbroken(run.short) for run in comparison.runs]
    told = [f"{n}: {unbroken(run.name)}, {_about(run.summary)}" for n, run in zip(names, comparison.runs, strict=True)]
    costs = [["", "n", "failed", "unparsable", *(COSTS[cost] for cost in (*_COSTS, *_TOKENS)), "USD", "left out"]]
    for name, run in zip(names, comparison.runs, strict=True):
        total = run.summary.total
        spent = [*(f"{total.cost[token]:,.0f}" for token in _TOKENS), usd(total.cost.get("usd"))]
        costs.append([*_counts(name, total), *_costs(total), *spent, str(run.left_out)])
    parts = ["\n".join(filled(line, width) for line in told)]
    if unlike := [*comparison.differing, *passages_lines(comparison.runs)]:
        warning = passages_warning(comparison.runs)
        lines = [["what differs", *names], *([line.name, *line.values] for line in unlike)]
        parts.append("\n".join([align(lines, width=width), *([filled(warning, width)] if warning else [])]))
    parts += [f"{comparison.questions} questions that all runs asked", align(costs, width=width)]
    parts += [align(table, width=width) for table in _by_figures(comparison, names)]
    return "\n\n".join([filled(unbroken(verdict(comparison)), width), *parts, filled(_COMPARISON_LEGEND, width)])


def cost_table(costs: Costs, calls: Collection[PaidCall] = ()) -> str:
    """What a run cost, per question and altogether, and what is worth knowing of the calls that it paid for; ends
    without a line break."""
    lines = [[f"  {line.label}" if line.part else line.label, *line.cells] for line in cost_lines(costs)]
    return "\n".join([align([["", *COST_COLUMNS], *lines]), *cost_notes(costs, calls)])


def align(lines: Sequence[Sequence[str]], left: Sequence[int] = (0,), width: int | None = None) -> str:
    """Columns two spaces apart. A line break in a cell is a space: no name makes lines of its own.

    Args:
        lines: Their cells; at least one line, all of the same length.
        left: Numbers of the columns, from 0, that are flush left; the others are flush right.
        width: Columns of text that a line has at most: those that do not fit stand below, behind the first one again.
    """
    lines = [[unbroken(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    blocks, taken = [[0]], widths[0]
    for n, wide in enumerate(widths[1:], 1):
        if width is not None and taken + 2 + wide > width and len(blocks[-1]) > 1:
            blocks.append([0])
            taken = widths[0]
        blocks[-1].append(n)
        taken += 2 + wide

    def padded(line: Sequence[str], n: int) -> str:
        return line[n].ljust(widths[n]) if n in left else line[n].rjust(widths[n])

    return "\n\n".join(
        "\n".join("  ".join(padded(line, n) for n in block).rstrip() for line in lines) for block in blocks
    )


def fitted(lines: Sequence[Sequence[str]], words: Sequence[int], width: int | None) -> str:
    """The lines below their headings as `align` has them. Where they are wider than the width, each has a number, and
    what its columns of words say stands above."""
    text = align(lines, words)
    if width is None or max(map(len, text.splitlines())) <= width:
        return text
    numbers = [n for n in range(len(lines[0])) if n not in words]
    told, table = [], [["", *(lines[0][n] for n in numbers)]]
    for number, line in enumerate(lines[1:], 1):
        said = [line[words[0]], *(f"{lines[0][word]} {line[word]}" for word in words[1:] if line[word])]
        told.append(filled(f"{number}: {', '.join(said)}", width))
        table.append([str(number), *(line[n] for n in numbers)])
    return "\n".join([*told, "", align(table, width=width)])


def filled(text: str, width: int | None) -> str:
    """The text in lines of that width, where one is given."""
    return text if width is None else textwrap.fill(" ".join(text.split()), width)


def _judge(name: str, spent: Spent) -> str:
    calls, tokens_in, tokens_out, dollars = spent_cells(spent)[:4]
    now = paid(spent)
    return (
        f"Besides, {unbroken(name)} cost {calls} LM calls, {tokens_in} tokens in, {tokens_out} out, {dollars} USD, its "
        f"self-test included; {now.lm_calls:,} calls and {usd(now.usd)} USD of it were paid in this run."
    )


def _by_figures(comparison: Comparison, names: Sequence[str]) -> list[list[list[str]]]:
    """The tables of each metric, once for those that have the same."""
    same: dict[str, tuple[list[str], list[list[list[str]]]]] = {}
    for metric in comparison.metrics:
        tables = [_means(metric, comparison, names)]
        for by_type in (False, True):
            differences = [d for d in comparison.differences if d.metric == metric and bool(d.type) is by_type]
            tables += [_differences(differences, comparison, names)] if differences else []
        same.setdefault(repr(tables), ([], tables))[0].append(heading(metric))
    for headings, tables in same.values():
        tables[0][0][0] = ", ".join(headings)
    return [table for _, tables in same.values() for table in tables]


def _means(metric: str, comparison: Comparison, names: Sequence[str]) -> list[list[str]]:
    lines = [["", *names]]
    for name in (None, *comparison.runs[0].summary.by_type):
        groups = [run.summary.by_type[name] if name else run.summary.total for run in comparison.runs]
        cells = [f"{_score(figures, metric)} {_interval(figures, metric)}".strip() for figures in groups]
        lines.append([name or "all", *cells])
    return lines


def _differences(differences: Sequence[Difference], comparison: Comparison, names: Sequence[str]) -> list[list[str]]:
    short = {run.name: name for run, name in zip(comparison.runs, names, strict=True)}
    lines = [["", "n", "difference", "", "p", "corrected"]]
    for d in differences:
        pair = f"{short[d.first]} - {short[d.second]}"
        name = f"{d.type}: {pair}" if d.type else pair
        ends = interval(d.low, d.high, "+")
        lines.append([name, str(d.n), signed_percent(d.mean), ends, p_value(d.p), p_value(d.p_corrected)])
    return lines


def _about(summary: Summary) -> str:
    manifest = summary.manifest
    about = {
        "task": manifest.task,
        "program": manifest.program,
        "lm": manifest.lm and label(manifest.lm),
        "retriever": manifest.retriever,
    }
    known = [f"{name} {value}" for name, value in about.items() if value is not None]
    return unbroken(", ".join(known + ([f"best of {len(manifest.best_of)}"] if manifest.best_of else [])))


def _counts(name: str, figures: Figures) -> list[str]:
    return [name, str(figures.n), str(figures.failed), str(figures.unparsable)]


def _costs(figures: Figures) -> list[str]:
    return [f"{figures.cost[cost]:.2f}" for cost in _COSTS]


def _score(figures: Figures, metric: str) -> str:
    return percent(figures.scores[metric], figures.n) if metric in figures.scores else "-"


def _interval(figures: Figures, metric: str) -> str:
    return interval(figures.scores[metric].low, figures.scores[metric].high) if metric in figures.scores else ""
