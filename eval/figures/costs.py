"""What runs cost, from their rows: by predictor and in total, per question and altogether."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.figures.summary import judges, total, total_by_name
from eval.records.record import Manifest, Row
from programs.instruments.cost import Cost, Spent
from programs.instruments.trace import Turn

__all__ = ["Costs", "costs"]


@dataclass(frozen=True, slots=True)
class Costs:
    """What a run cost."""

    n: int
    """Questions, the failed ones included."""
    total: Cost
    """Of all of them; `predictors` has each predictor's share."""
    iterations: float | None
    """Rounds per question (MIGRES: "# Iter"). None where no program reports rounds."""
    passages: float | None
    """Retrieved passages shown to an LM per round, over all rounds (MIGRES: "# Passages"). None where they are not
    reported."""
    found: float
    """Different passages found, per question."""
    judges: dict[str, Spent]
    """What the judges cost, by the names of their metrics; no part of `total`."""


def costs(rows: Sequence[Row], manifest: Manifest) -> Costs:
    """The sums over the rows of a run. Tokens and dollars are what the calls cost when they were first paid for, those
    with `paid_` what was paid in this run; dollars are None where the price of any call is unknown."""
    altogether = total(Cost, [row.cost for row in rows])
    altogether.predictors = total_by_name([row.cost.predictors for row in rows])
    turns = [found for row in rows if (found := row.trace.steps_of(Turn))]
    shown = [turn.shown for of_row in turns for turn in of_row if turn.shown is not None]
    return Costs(
        n=len(rows),
        total=altogether,
        iterations=_ratio(sum(map(len, turns)), len(turns)),
        passages=_ratio(sum(not id_.startswith("lm:") for ids in shown for id_ in ids), len(shown)),
        found=_ratio(sum(len(row.trace.found()) for row in rows), len(rows)) or 0.0,
        judges=judges(rows, manifest),
    )


def _ratio(total: int, count: int) -> float | None:
    return total / count if count else None
