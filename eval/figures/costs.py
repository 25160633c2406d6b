"""What runs cost, from their rows: by predictor and in total, per question and altogether."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.figures.summary import Row, judges, sums
from programs.instruments.cost import Cost, Spent

__all__ = ["Costs", "costs"]


@dataclass(frozen=True, slots=True)
class Costs:
    """What a run cost."""

    n: int
    """Questions, the failed ones included."""
    total: Cost
    """Of all of them; `predictors` has each predictor's share."""
    iterations: float | None
    """Per question: MIGRES's "# Iter". None where the program reports none, as a list `iterations`."""
    passages: float | None
    """Retrieved passages shown in an iteration, over all iterations: MIGRES's "# Passages". None where the program does
    not report them, as lists `shown` of ids in its iterations."""
    found: float
    """Different passages found, per question."""
    judges: dict[str, Spent]
    """What the judges cost, by the names of their metrics; no part of `total`."""


def costs(rows: Sequence[Row], manifest: Mapping[str, Any]) -> Costs:
    """The sums over these rows of the run with this manifest. Tokens and dollars are what the calls cost when they were
    first paid for, those with `paid_` what was paid in this run; dollars are None where the price of any call is
    unknown."""
    total = Cost(**sums(Cost, [row["cost"] for row in rows]))
    for name in dict.fromkeys(name for row in rows for name in row["cost"]["predictors"]):
        shares = [row["cost"]["predictors"][name] for row in rows if name in row["cost"]["predictors"]]
        total.predictors[name] = Spent(**sums(Spent, shares))
    reports = [row["prediction"]["iterations"] for row in rows if row["prediction"] and _iterates(row["prediction"])]
    shown = [turn["shown"] for turns in reports for turn in turns if "shown" in turn]
    return Costs(
        n=len(rows),
        total=total,
        iterations=_ratio(sum(map(len, reports)), len(reports)),
        passages=_ratio(sum(not id_.startswith("lm:") for ids in shown for id_ in ids), len(shown)),
        found=_ratio(sum(map(_found, rows)), len(rows)) or 0.0,
        judges=judges(rows, manifest),
    )


def _found(row: Row) -> int:
    return len({id_ for search in row.get("searches") or () for id_ in search["found"] or ()})


def _iterates(prediction: dict[str, Any]) -> bool:
    turns = prediction.get("iterations")
    return isinstance(turns, list) and all(isinstance(turn, dict) for turn in turns)


def _ratio(total: int, count: int) -> float | None:
    return total / count if count else None
