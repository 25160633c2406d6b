"""A run as the page shows it, with its figures."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.figures.comparison import Comparison
from eval.figures.costs import Costs, costs
from eval.figures.outcomes import Reason, reason
from eval.figures.settings import ABSENT, Setting
from eval.figures.summary import Figures, Summary, summarise
from eval.records.record import Manifest, PaidCall, Row
from eval.records.run import Run
from eval.records.standing import Standing, label, standing
from retrieval import Passage
from retrieval.indexes import Progress

__all__ = ["COSTS", "ShownRun", "about", "amount", "cost", "shown_runs"]

COSTS = {
    "LM calls": ("lm_calls",),
    "tokens": ("input_tokens", "output_tokens"),
    "US dollars": ("usd",),
    "searches": ("searches",),
    "seconds": ("seconds",),
}
"""The names of costs on the page, and what they are the sums of."""


@dataclass(frozen=True, slots=True)
class ShownRun:
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
    """Why each row is wrong, if it is."""
    summary: Summary
    costs: Costs
    calls: list[PaidCall]
    """The LM calls that it paid for."""

    @property
    def standing(self) -> Standing:
        return standing(self.run.manifest.lm or "")

    @property
    def hollow(self) -> bool:
        """Whether it is a ceiling or a floor."""
        return bool(self.standing)

    @property
    def title(self) -> str:
        """The short name, or of one run the program."""
        return self.short or self.run.manifest.program or self.run.name

    @property
    def name(self) -> str:
        """The title, and whether the run is a ceiling or a floor."""
        further = (*_best_of(self.run.manifest), self.standing)
        return ", ".join([self.title, *(what for what in further if what and what not in self.title)])

    @property
    def state(self) -> str:
        """Whether it is complete, in words, and why not."""
        asked, rows, gap = self.run.manifest.asked, len(self.run.rows), self.run.gap
        questions = f"{rows} questions" if rows == asked else f"{rows} of {asked} questions"
        return f"complete: {questions}" if gap is None else f"incomplete: {questions}; {gap}"

    @property
    def errors(self) -> list[str]:
        return [str(row.error) for row in self.run.rows if row.error is not None]

    @property
    def left_out(self) -> int:
        """How many of its questions are left out because not all runs asked them."""
        return len(self.run.rows) - len(self.rows)


def shown_runs(
    runs: Sequence[Run], comparison: Comparison | None, progress: Progress = lambda parts, desc: parts
) -> list[ShownRun]:
    """The runs, with the figures of their comparison if they are compared.

    Raises:
        UsageError: the passages or the calls of a run cannot be read.
    """
    shared = set.intersection(*({row.id for row in run.rows} for run in runs))
    made = []
    for n, run in enumerate(runs):
        rows, known = [row for row in run.rows if row.id in shared], run.passages()
        short, summary = (comparison.runs[n].short, comparison.runs[n].summary) if comparison else ("", None)
        summary = summary or summarise(rows, len(rows), run.manifest, progress=progress)
        reasons = [reason(row, known) for row in rows]
        spent, calls = costs(rows, run.manifest), list(run.calls())
        made.append(ShownRun(n, short, run, rows, known, reasons, summary, spent, calls))
    return made


def about(run: ShownRun, entries: Sequence[Setting]) -> list[str]:
    """What sets a run apart: its LM, its retriever, and the settings that other runs have with other values."""
    manifest = run.run.manifest
    rescored = manifest.entries().get("rescored")
    known = {
        "LM": manifest.lm and label(manifest.lm),
        "retriever": manifest.retriever,
        "compiled state": manifest.state and manifest.state.get("file"),
        "rescored from": rescored and rescored["run"],
    }
    for entry in entries:
        value = entry.values[run.number]
        if entry.name.startswith(("settings.", "temperature")) and len({*entry.values} - {ABSENT}) > 1:
            known[entry.name.removeprefix("settings.")] = None if value == ABSENT else value
    return [*_best_of(manifest), *(f"{name} {value}" for name, value in known.items() if value)]


def _best_of(manifest: Manifest) -> list[str]:
    return [f"best of {len(manifest.best_of)}"] if manifest.best_of else []


def cost(figures: Figures, name: str) -> float | None:
    """What a question cost; None where it is not known."""
    parts = [figures.cost.get(part) for part in COSTS[name]]
    return None if None in parts else sum(part for part in parts if part is not None)


def amount(figures: Figures, name: str) -> str:
    """What a question cost, as text."""
    value = cost(figures, name)
    if value is None:
        return "unknown"
    return f"{value:.6f}" if name == "US dollars" else f"{value:,.0f}" if name == "tokens" else f"{value:,.2f}"
