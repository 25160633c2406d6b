"""The runs of a set as text: what is to be run, and what came of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from eval.figures.summary import Summary
from eval.reports.formats import COSTS, heading, interval, percent, usd
from eval.reports.text import filled, fitted

__all__ = ["Outcome", "Prospect", "plan_table", "set_table"]

_COSTS = ("lm_calls", "searches", "input_tokens", "output_tokens", "seconds")

_LEGEND = """\
Scores in percent with 95 % confidence intervals; a failed question counts 0. LM calls, searches, tokens, US dollars and
seconds: per question, without a judge's; tokens and dollars as they were when first paid for."""

_PLAN_LEGEND = """\
Counted with stand-ins for the LM on two questions of each task: a reader that copies from the passages (typical), and
one that replies nothing. An LM's replies are longer than the reader's, above all when it reasons. A judge's calls are
not counted."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run of a set that was made, or was to be."""

    about: Mapping[str, str]
    """What it is: task, program, settings …; the same names for all runs of the set."""
    summary: Summary | None
    """None where there is nothing on disk."""
    state: str
    """complete, or why it is not, in words."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a run of a set will take."""

    name: str
    questions: int
    left: int
    """Those that are still to be asked."""
    calls: tuple[float, float]
    """LM calls for the questions that are left, typically and at most."""
    usd: tuple[float | None, float | None]
    """Dollars, likewise; None where the price is unknown."""


def set_table(outcomes: Sequence[Outcome], width: int | None = None) -> str:
    """The figures of all runs, one line each, below what they have in common; ends without a line break.

    Args:
        outcomes: At least one.
        width: Columns of text that a line has at most; None for as many as it takes. So it is below.
    """
    names = [name for name in outcomes[0].about if len({outcome.about[name] for outcome in outcomes}) > 1]
    common = [f"{name} {value}" for name, value in outcomes[0].about.items() if name not in names and value]
    totals = [outcome.summary.total for outcome in outcomes if outcome.summary]
    metrics = list(dict.fromkeys(metric for total in totals for metric in total.scores))
    costs = [*(COSTS[cost] for cost in _COSTS), "USD"]
    lines = [[*names, "n", "failed", "unparsable", *map(heading, metrics), *costs, "state"]]
    for outcome in outcomes:
        figures = ["-"] * (3 + len(metrics) + len(costs))
        if outcome.summary is not None:
            total = outcome.summary.total
            figures = [str(total.n), str(total.failed), str(total.unparsable)]
            for metric in metrics:
                score = total.scores.get(metric)
                figures.append(f"{percent(score, total.n)} {interval(score.low, score.high)}" if score else "-")
            figures += [*(f"{total.cost[cost]:,.2f}" for cost in _COSTS), usd(total.cost.get("usd"))]
        lines.append([*(outcome.about[name] for name in names), *figures, outcome.state])
    table = fitted(lines, [*range(len(names)), len(lines[0]) - 1], width)
    return "\n".join(
        [filled(f"{len(outcomes)} runs: {', '.join(common)}", width), "", table, "", filled(_LEGEND, width)]
    )


def plan_table(prospects: Sequence[Prospect], width: int | None = None) -> str:
    """What all runs will take, one line each and altogether; ends without a line break."""
    counts = [sum(p.questions for p in prospects), sum(p.left for p in prospects)]
    calls = [fsum(p.calls[n] for p in prospects) for n in (0, 1)]
    dollars = [_sum(p.usd[n] for p in prospects) for n in (0, 1)]
    total = Prospect(f"{len(prospects)} runs", counts[0], counts[1], (calls[0], calls[1]), (dollars[0], dollars[1]))
    lines = [["run", "questions", "left", "LM calls", "at most", "USD", "at most"]]
    for each in [*prospects, total]:
        amounts = [f"{amount:,.0f}" for amount in (each.questions, each.left, *each.calls)]
        lines.append([each.name, *amounts, *("unknown" if usd is None else f"{usd:,.2f}" for usd in each.usd)])
    return "\n\n".join([fitted(lines, [0], width), filled(_PLAN_LEGEND, width)])


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = list(amounts)
    return None if None in known else fsum(amount or 0.0 for amount in known)
