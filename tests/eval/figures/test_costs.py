from collections.abc import Sequence
from typing import Any

from support.records import a_manifest, a_row

from eval.figures.costs import Costs, costs
from eval.figures.summary import summarise
from eval.records.record import Row
from programs.instruments.cost import Cost, Spent
from programs.instruments.trace import Trace, Turn


def row(cost: Cost, turns: Sequence[Sequence[str] | None] = (), error: str | None = None, found: Any = ()) -> Row:
    steps = [Turn(number=n, shown=shown) for n, shown in enumerate(turns, 1)]
    return a_row(cost=cost, error=error, trace=Trace(steps=(*found, *steps)))


def costs_of(rows: Sequence[Row]) -> Costs:
    return costs(rows, a_manifest())


READ, DRAFT = Spent(2, 1, 20, 4, 0.5, 10, 2, 0.25), Spent(1, 0, 10, 2, 0.25, 10, 2, 0.25)
TWO = Cost(3, 1, 30, 6, 0.75, 20, 4, 0.5, searches=2, seconds=1.5, predictors={"draft": DRAFT, "read": READ})
ONE = Cost(1, 0, 10, 2, 0.25, 10, 2, 0.25, searches=1, seconds=0.5, predictors={"draft": DRAFT})


def test_costs_add_up_by_predictor_and_in_total() -> None:
    found = costs_of([row(TWO), row(ONE), row(Cost(seconds=2.0), error="LMTimeoutError")])
    assert (found.n, found.iterations, found.passages) == (3, None, None)
    total = found.total
    assert (total.lm_calls, total.cached_calls, total.searches, total.seconds) == (4, 1, 3, 4.0)
    assert (total.input_tokens, total.paid_input_tokens, total.usd, total.paid_usd) == (40, 30, 1.0, 0.75)
    assert total.predictors == {"draft": Spent(2, 0, 20, 4, 0.5, 20, 4, 0.5), "read": READ}


def test_a_price_that_is_unknown_is_not_0() -> None:
    unknown = Cost(1, 0, 10, 2, None, 0, 0, 0.0, predictors={"read": Spent(1, 1, 10, 2, None, 0, 0, 0.0)})
    rows = [row(TWO), row(unknown)]
    found = costs_of(rows)
    assert (found.total.usd, found.total.paid_usd) == (None, 0.5)
    assert (found.total.predictors["read"].usd, found.total.predictors["draft"].usd) == (None, 0.25)
    means = summarise(rows, 2, a_manifest()).total.cost
    assert "usd" not in means
    assert means["paid_usd"] == 0.25


def test_iterations_and_the_passages_in_them() -> None:
    found = costs_of([row(ONE, [["1", "2", "lm:knowledge-1"], [], ["3"]]), row(ONE, [["4"]]), row(ONE)])
    assert (found.iterations, found.passages) == (4 / 2, 4 / 4)
    without = costs_of([row(ONE, [None, None])])
    assert (without.iterations, without.passages) == (2, None)
