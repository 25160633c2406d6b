"""A run with its figures, from which the views of the page are made."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.figures.comparison import Comparison
from eval.figures.costs import Costs, costs
from eval.figures.outcomes import Reason, reason
from eval.figures.summary import Figures, Summary, summarise
from eval.records.record import Row
from eval.records.run import Run
from eval.records.standing import Standing, standing
from retrieval import Passage
from retrieval.indexes import Progress

__all__ = ["COSTS", "Source", "amount", "cost", "sources"]

COSTS = {
    "LM calls": ("lm_calls",),
    "tokens": ("input_tokens", "output_tokens"),
    "US dollars": ("usd",),
    "searches": ("searches",),
    "seconds": ("seconds",),
}
"""The names of costs on the page, and what they are the sums of."""


@dataclass(frozen=True, slots=True)
class Source:
    """A run; the rows and figures are of the questions that all runs on the page asked."""

    number: int
    """From 0."""
    short: str
    """As `eval.figures.comparison.Compared.short`; empty where there is only one run."""
    run: Run
    rows: list[Row]
    known: dict[str, Passage]
    """The run's passages, by id."""
    reasons: list[Reason]
    """Of each row."""
    summary: Summary
    costs: Costs

    @property
    def standing(self) -> Standing:
        return standing(self.run.manifest.lm or "")

    @property
    def title(self) -> str:
        """The short name, or of one run the program."""
        return self.short or self.run.manifest.program or self.run.name

    @property
    def name(self) -> str:
        """The title, and whether the run is a ceiling or a floor."""
        best = f"best of {len(self.run.manifest.best_of)}" if self.run.manifest.best_of else ""
        return ", ".join([self.title, *(what for what in (best, self.standing) if what and what not in self.title)])


def sources(
    runs: Sequence[Run], comparison: Comparison | None, progress: Progress = lambda parts, desc: parts
) -> list[Source]:
    """The runs, with the figures of their comparison if they are compared.

    Raises:
        UsageError: the passages of a run cannot be read.
    """
    shared = set.intersection(*({row.id for row in run.rows} for run in runs))
    made = []
    for n, run in enumerate(runs):
        rows = [row for row in run.rows if row.id in shared]
        summary = (
            comparison.runs[n].summary if comparison else summarise(rows, len(rows), run.manifest, progress=progress)
        )
        known = run.passages()
        reasons = [reason(row, known) for row in rows]
        short = comparison.runs[n].short if comparison else ""
        made.append(Source(n, short, run, rows, known, reasons, summary, costs(rows, run.manifest)))
    return made


def cost(figures: Figures, name: str) -> float | None:
    """Per question; None where it is not known."""
    parts = [figures.cost.get(part) for part in COSTS[name]]
    return None if None in parts else sum(part for part in parts if part is not None)


def amount(figures: Figures, name: str) -> str:
    """A cost per question as text."""
    value = cost(figures, name)
    if value is None:
        return "unknown"
    return f"{value:.6f}" if name == "US dollars" else f"{value:,.0f}" if name == "tokens" else f"{value:,.2f}"
