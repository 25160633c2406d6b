"""What runs cost, from their rows: by predictor and in total, per question and altogether."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import fsum
from typing import Any

from eval.summary import Row
from programs._cost import Cost, Spent

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


def costs(rows: Sequence[Row]) -> Costs:
    """The sums over these rows. Tokens and dollars are what the calls cost when they were first paid for, those with
    `paid_` what was paid in this run; dollars are None where the price of any call is unknown."""
    total = Cost(**_sums(Cost, [row["cost"] for row in rows]))
    for name in dict.fromkeys(name for row in rows for name in row["cost"]["predictors"]):
        shares = [row["cost"]["predictors"][name] for row in rows if name in row["cost"]["predictors"]]
        total.predictors[name] = Spent(**_sums(Spent, shares))
    reports = [row["prediction"]["iterations"] for row in rows if row["prediction"] and _iterates(row["prediction"])]
    shown = [turn["shown"] for turns in reports for turn in turns if "shown" in turn]
    return Costs(
        n=len(rows),
        total=total,
        iterations=_ratio(sum(map(len, reports)), len(reports)),
        passages=_ratio(sum(not id_.startswith("lm:") for ids in shown for id_ in ids), len(shown)),
    )


def _iterates(prediction: dict[str, Any]) -> bool:
    turns = prediction.get("iterations")
    return isinstance(turns, list) and all(isinstance(turn, dict) for turn in turns)


def _sums(kind: type[Spent], spent: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = [field.name for field in fields(kind) if field.name != "predictors"]
    values = {name: [each[name] for each in spent] for name in names}
    return {name: None if None in each else _sum(each) for name, each in values.items()}


def _sum(values: Sequence[float]) -> float:
    return fsum(values) if any(isinstance(value, float) for value in values) else sum(values)


def _ratio(total: int, count: int) -> float | None:
    return total / count if count else None
