"""The runs of a set as text: what is to be run, and what came of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from eval.figures.summary import Summary
from eval.reports.formats import heading, interval, percent, usd
from eval.reports.text import align

__all__ = ["Outcome", "Prospect", "plan_table", "set_table"]

_COSTS = {
    "lm_calls": "LM calls",
    "searches": "searches",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
    "seconds": "seconds",
}

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


def set_table(outcomes: Sequence[Outcome]) -> str:
    """The figures of all runs, one line each, below what they have in common; ends without a line break."""
    names = [name for name in outcomes[0].about if len({outcome.about[name] for outcome in outcomes}) > 1]
    common = [f"{name} {value}" for name, value in outcomes[0].about.items() if name not in names and value]
    totals = [outcome.summary.total for outcome in outcomes if outcome.summary]
    metrics = list(dict.fromkeys(metric for total in totals for metric in total.scores))
    lines = [[*names, "n", "failed", "unparsable", *_two(map(heading, metrics)), *_COSTS.values(), "USD", "state"]]
    for outcome in outcomes:
        line = [outcome.about[name] for name in names]
        if outcome.summary is None:
            empty = ["-"] * (4 + len(_COSTS)) + ["-", ""] * len(metrics)
            lines.append([*line, *empty, outcome.state])
            continue
        total = outcome.summary.total
        line += [str(total.n), str(total.failed), str(total.unparsable)]
        for metric in metrics:
            score = total.scores.get(metric)
            line += [percent(score, total.n), interval(score.low, score.high)] if score else ["-", ""]
        line += [f"{total.cost[cost]:,.2f}" for cost in _COSTS]
        lines.append([*line, usd(total.cost.get("usd")), outcome.state])
    left = [*range(len(names)), len(lines[0]) - 1]
    return "\n".join([f"{len(outcomes)} runs: {', '.join(common)}", "", align(lines, left), "", _LEGEND])


def plan_table(prospects: Sequence[Prospect]) -> str:
    """What all runs will take, one line each and altogether; ends without a line break."""
    lines = [["run", "questions", "left", "LM calls", "at most", "USD", "at most"]]
    for prospect in prospects:
        counts = [prospect.questions, prospect.left, *prospect.calls]
        lines.append([prospect.name, *(f"{count:,.0f}" for count in counts), *map(_dollars, prospect.usd)])
    counts = [sum(p.questions for p in prospects), sum(p.left for p in prospects)]
    calls = [fsum(p.calls[n] for p in prospects) for n in (0, 1)]
    dollars = [_sum(p.usd[n] for p in prospects) for n in (0, 1)]
    total = [f"{len(prospects)} runs", *(f"{count:,.0f}" for count in [*counts, *calls]), *map(_dollars, dollars)]
    return "\n".join([align([*lines, total]), "", _PLAN_LEGEND])


def _two(headings: Iterable[str]) -> list[str]:
    """Each heading with an empty one behind it, for the interval."""
    return [cell for name in headings for cell in (name, "")]


def _dollars(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.2f}"


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = list(amounts)
    return None if None in known else fsum(amount or 0.0 for amount in known)
