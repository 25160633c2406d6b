"""How figures are written: the same in the terminal and on the page."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from eval.figures.comparison import Compared
from eval.figures.costs import Costs
from eval.figures.settings import ABSENT, Setting
from eval.figures.summary import Score
from eval.records.record import PaidCall
from programs.instruments.cost import Cost, Spent

__all__ = [
    "COSTS", "COST_COLUMNS", "CostLine", "cost_lines", "cost_notes", "heading", "interval", "p_value", "paid",
    "passages_lines", "passages_warning", "percent", "signed_percent", "spent_cells", "usd",
]  # fmt: skip

_HEADINGS = {
    "em": "EM",
    "f1": "F1",
    "recall_passages": "titles found",
    "recall_evidence": "titles kept",
    "recall_passages_by_id": "ids found",
    "recall_evidence_by_id": "ids kept",
}

_FAR_MORE = 1.5  # times as many passages as another run

COSTS = {
    "lm_calls": "LM calls",
    "depth": "depth",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
    "usd": "USD",
    "searches": "searches",
    "seconds": "seconds",
}
"""The names of costs in tables, by those in `programs.instruments.cost.Cost`."""

COST_COLUMNS = [name for cost, name in COSTS.items() if cost != "depth"]
"""The headings of `CostLine.cells`."""


@dataclass(frozen=True, slots=True)
class CostLine:
    """A line of the table of costs."""

    label: str
    part: bool
    """Whether it is part of the line above it that is not a part."""
    cells: tuple[str, ...]
    """Under `COST_COLUMNS`; empty where something is not counted."""


def heading(metric: str) -> str:
    """The name of a metric in tables."""
    return _HEADINGS.get(metric, metric)


def percent(score: Score, n: int) -> str:
    """The mean in percent, followed by (m) if only m of the n questions have the metric."""
    return f"{100 * score.mean:.1f}" + (f" ({score.n})" if score.n < n else "")


def interval(low: float, high: float, sign: str = "") -> str:
    """The two ends in percent; with a sign in front of each if `sign` is "+"."""
    return f"[{100 * low:{sign}.1f}, {100 * high:{sign}.1f}]"


def signed_percent(value: float) -> str:
    """A difference in percent."""
    return f"{100 * value:+.1f}"


def p_value(p: float) -> str:
    """A p-value with three decimals."""
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def usd(amount: float | None) -> str:
    """US dollars; "unknown" for None."""
    return "unknown" if amount is None else f"{amount:.6f}"


def cost_lines(costs: Costs) -> list[CostLine]:
    """What a run cost, per question and altogether."""
    total, n = costs.total, max(costs.n, 1)
    altogether = {"altogether": total, **{f"besides, {name}": spent for name, spent in costs.judges.items()}}
    lines = [CostLine(f"per question of {costs.n}", False, spent_cells(total, n))]
    lines += [CostLine(name, True, spent_cells(spent, n)) for name, spent in total.predictors.items()]
    for name, spent in altogether.items():
        lines.append(CostLine(name, False, spent_cells(spent)))
        lines.append(CostLine("paid in this run", True, spent_cells(paid(spent))))
    return lines


def cost_notes(costs: Costs, calls: Collection[PaidCall]) -> list[str]:
    """Sentences for beneath `cost_lines`, of what the run cost and of the calls that it paid for."""
    notes = [f"different passages found per question: {costs.found:.2f}"]
    if costs.iterations is not None:
        notes.append(f"iterations per question: {costs.iterations:.2f}")
    if costs.passages is not None:
        notes.append(f"retrieved passages shown per iteration: {costs.passages:.2f}")
    if calls:
        cut_off = sum(call.cut_off for call in calls)
        notes.append(f"replies cut off at the limit of tokens: {cut_off} of {len(calls)}")
    return notes


def passages_lines(runs: Sequence[Compared]) -> list[Setting]:
    """How many passages the runs found, and how many texts their answering calls were shown, where they differ."""
    found = [f"{run.found:.1f}" for run in runs]
    shown = [ABSENT if run.shown is None else f"{run.shown:.1f}" for run in runs]
    lines = [Setting("passages found per question", found), Setting("shown to the answering call", shown)]
    return [line for line in lines if not line.same]


def passages_warning(runs: Sequence[Compared]) -> str | None:
    """A sentence where some runs rest on far more passages than others; None where they do not."""
    counts = {
        "the answering calls are shown {} texts per question": [run.shown for run in runs if run.shown is not None],
        "the runs find {} passages per question": [run.found for run in runs],
    }
    unlike = [
        what.format(f"{min(each):.1f} to {max(each):.1f}")
        for what, each in counts.items()
        if each and max(each) >= _FAR_MORE * max(min(each), 1)
    ]
    return f"Not alike: {', and '.join(unlike)}. That may be why they differ." if unlike else None


def spent_cells(spent: Spent, n: int = 1) -> tuple[str, ...]:
    """What was spent, divided by n, under `COST_COLUMNS`."""
    counts = [_count(count, n) for count in (spent.lm_calls, spent.input_tokens, spent.output_tokens)]
    dollars = usd(None if spent.usd is None else spent.usd / n)
    rest = (_count(spent.searches, n), f"{spent.seconds / n:,.2f}") if isinstance(spent, Cost) else ("", "")
    return (*counts, dollars, *rest)


def paid(spent: Spent) -> Spent:
    """The part that was paid in the run itself; the rest was answered from a cache."""
    calls = spent.lm_calls - spent.cached_calls
    return Spent(calls, 0, spent.paid_input_tokens, spent.paid_output_tokens, spent.paid_usd)


def _count(count: int, n: int) -> str:
    return f"{count / n:,.2f}" if n > 1 else f"{count:,}"
