"""A race, without anything that asks: who is asked the next questions, and who leaves.

    race = Contest(candidates=8, rules=Rules(questions=60))
    while questions := race.next_block():
        for candidate in race.racing():
            race.take(candidate, [outcome of each of the questions])
        left = race.look()

All decisions follow from the outcomes, so that a race over the same rows goes the same way.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from eval.choosing.betting import Evidence, means_within
from eval.choosing.record import Price, Why

__all__ = ["PRICES", "Contest", "Leave", "Outcome", "Rules"]

PRICES: tuple[Price, ...] = get_args(Price)
_FIRST = 2  # questions of the first block, which shows what each candidate costs
_KNOWN = 5  # questions after which a price is taken for what it is
_CUT = 2  # by which the cost of a question is divided where a limit does not suffice
_NORMAL = NormalDist()


class Outcome(NamedTuple):
    """What became of one question."""

    score: float
    """0 where it failed."""
    prices: Mapping[Price, float | None]
    calls: int
    """LM calls that were paid for, those of a judge included."""
    usd: float | None
    """Dollars likewise."""
    failed: bool = False


class Leave(NamedTuple):
    """A candidate leaves the race."""

    candidate: int
    why: Why
    by: int | None
    """Who is better, or the best, and no dearer."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What decides a race."""

    questions: int
    """That are raced at most."""
    block: int = 10
    """Questions between two looks at most."""
    level: float = 0.05
    """See `eval.choosing.record.Race`; likewise `prices` and `within`."""
    prices: tuple[Price, ...] = ()
    within: float | None = None
    calls: float | None = None
    """LM calls that may be paid for; None for any number."""
    usd: float | None = None
    """Dollars likewise."""
    aside: int = 0
    """Questions that the best is asked afterwards, for which a part of calls and dollars is held back."""
    direct: int | None = None
    """The candidate that is asked them too."""


@dataclass
class _Level:
    """Until when all who are left are asked, where a limit does not suffice."""

    what: str
    ends: float


class Contest:
    """A race between candidates, which are known by their numbers.

    After each block a candidate leaves that is worse than one which is not dearer, by the test of
    `eval.choosing.betting.Evidence`. Where the limits do not suffice to ask all that are left to the end, the money is
    shared as by successive halving (Karnin, Koren and Somekh 2013): equal parts for ever fewer candidates. Those stay
    whose chances of being the best at their price, divided by what they cost, are the highest; so a cheap one is asked
    further for little hope, and a dear one for much. Who leaves so is not called worse.
    """

    def __init__(self, candidates: int, rules: Rules) -> None:
        self.rules = rules
        self.asked = 0
        """Questions so far."""
        self.short: str | None = None
        """The limit for which the race ends before all questions were asked, if so: calls or usd."""
        self._in = np.ones(candidates, bool)
        self._evidence = Evidence(candidates)
        self._outcomes: list[list[Outcome]] = [[] for _ in range(candidates)]
        self._level: _Level | None = None
        self._rivals_now = np.zeros((candidates, candidates), bool)  # none in the first block: no price is known

    def racing(self) -> list[int]:
        """Who is in the race, from cheap to dear."""
        price = self.rules.prices[0] if self.rules.prices else "calls"
        return sorted(np.flatnonzero(self._in).tolist(), key=lambda one: self.price(one, price) or 0.0)

    def next_block(self) -> range:
        """The numbers of the questions that all who are in the race are asked next; empty when it is over."""
        left = self.rules.questions - self.asked
        size = min(self.rules.block, left) if self.asked else min(_FIRST, left)
        if self._in.sum() < 2 or self.short:
            size = 0
        elif self._level and size:
            room = (self._level.ends - self.spent(self._level.what)) / max(self._rates(self._level.what).sum(), 1e-12)
            size = min(size, max(1, int(room)))
        return range(self.asked, self.asked + size)

    def take(self, candidate: int, outcomes: Sequence[Outcome]) -> None:
        """What became of a candidate's questions of the block."""
        self._outcomes[candidate] += outcomes

    def look(self) -> list[Leave]:
        """Take the block into account, and say who leaves."""
        block = range(self.asked, max(map(len, self._outcomes)))
        for number in block:
            known = [self._outcomes[one][number].score if self._in[one] else 0.0 for one in range(len(self._in))]
            self._evidence.add(np.array(known), self._rivals_now)
        self.asked = block.stop
        leaves = [*self._failed(), *self._worse(), *self._too_dear()]
        leaves += self._without_room()
        self._rivals_now = self._rivals()
        return leaves

    def scores(self, candidate: int) -> list[float]:
        """Its scores so far."""
        return [outcome.score for outcome in self._outcomes[candidate]]

    def score(self, candidate: int) -> float:
        """Their mean."""
        return float(np.mean(self.scores(candidate)))

    def failures(self, candidate: int) -> int:
        """Its questions that failed."""
        return sum(outcome.failed for outcome in self._outcomes[candidate])

    def interval(self, candidate: int) -> tuple[float, float]:
        """Of the mean; all of these hold together, at every look, but for the level."""
        return means_within(self.scores(candidate), self.rules.level / len(self._in))

    def price(self, candidate: int, price: Price) -> float | None:
        """What a question costs it in the mean; None where that is not known."""
        costs = [outcome.prices[price] for outcome in self._outcomes[candidate]]
        return None if None in costs or not costs else float(np.mean([cost for cost in costs if cost is not None]))

    def p(self, candidate: int) -> float:
        """How surprising its scores are if no rival is better."""
        return float(self._evidence.p[candidate])

    def rival(self, candidate: int) -> int | None:
        """The best of those in the race that are not dearer; None where there is none."""
        rivals = np.flatnonzero(self._rivals()[candidate])
        return max(rivals.tolist(), key=self.score) if len(rivals) else None

    def spent(self, what: str) -> float:
        """LM calls (`calls`) or dollars (`usd`) that were paid for so far."""
        return sum(getattr(outcome, what) or 0.0 for outcomes in self._outcomes for outcome in outcomes)

    def _rivals(self) -> NDArray[np.bool_]:
        """For each candidate in the race the others in it that are not dearer, by any of the prices."""
        rivals = np.outer(self._in, self._in)
        np.fill_diagonal(rivals, val=False)
        for price in self.rules.prices:
            costs = np.array([self.price(one, price) or 0.0 for one in range(len(self._in))])
            rivals &= costs <= costs[:, None]
        return rivals

    def _leave(self, candidate: int, why: Why, by: int | None) -> Leave:
        self._in[candidate] = False
        return Leave(candidate, why, by)

    def _failed(self) -> Iterator[Leave]:
        """Those of which no question was answered."""
        failed = [one for one in self.racing() if self.failures(one) == self.asked]
        if len(failed) < self._in.sum():
            yield from (self._leave(one, "failed", None) for one in failed)

    def _worse(self) -> Iterator[Leave]:
        for one in sorted(self.racing(), key=self.score):
            rival = self.rival(one)
            if self.p(one) <= self.rules.level and rival is not None and self.score(rival) >= self.score(one):
                yield self._leave(one, "worse", rival)

    def _too_dear(self) -> Iterator[Leave]:
        """Those that surely cost more than may be paid; the cheapest stays in any case."""
        if self.rules.within is None or self.asked < _KNOWN:
            return
        cheapest, *others = self.racing()
        for one in others:
            costs = np.array([outcome.prices[self.rules.prices[0]] or 0.0 for outcome in self._outcomes[one]])
            if costs.mean() - 2 * costs.std() / sqrt(len(costs)) > self.rules.within:
                yield self._leave(one, "price", cheapest)

    def _without_room(self) -> list[Leave]:
        """Those that are not asked further because a limit does not suffice for all."""
        tight = {what: need for what in ("calls", "usd") if (need := self._need(what)) > 1}
        if not tight or self.asked == self.rules.questions:
            self._level = None
            return []
        what = max(tight, key=lambda what: tight[what])
        leaves: list[Leave] = []
        if self._level and self._level.what == what:
            if self.spent(what) + self._rates(what).sum() <= self._level.ends:
                return []
            leaves = self._cut(what)
        if (need := self._need(what)) == np.inf or self._left(what) < self._rates(what).sum():
            self.short = what
        # So many cuts are to come that equal parts of what is left suffice to ask the last ones to the end.
        cuts = next((cuts for cuts in range(40) if (_CUT ** (cuts + 1) - 1) / (cuts + 1) >= need), 40)
        self._level = _Level(what, self.spent(what) + self._left(what) / (cuts + 1))
        return leaves

    def _cut(self, what: str) -> list[Leave]:
        """Divide what a question costs: those stay who are worth it most, and the best one."""
        rates = self._rates(what)
        best = max(self.racing(), key=self.score)
        worth = sorted(self.racing(), key=lambda one: -self._chance(one) / max(float(rates[one]), 1e-12))
        room = rates.sum() / _CUT - rates[best]
        leaves = []
        for one in (one for one in worth if one != best):
            if rates[one] <= room:
                room -= rates[one]
            else:
                leaves.append(self._leave(one, "limit", best))
        return leaves

    def _chance(self, candidate: int) -> float:
        """About how likely it is that no rival is better in the end; 1 where there is none."""
        rival = self.rival(candidate)
        if rival is None:
            return 1.0
        behind = np.array(self.scores(rival)) - np.array(self.scores(candidate))
        spread = sqrt(((behind - behind.mean()) ** 2).sum() + 1) / len(behind)  # as if one question more differed
        return _NORMAL.cdf(-float(behind.mean()) / spread)

    def _rates(self, what: str) -> NDArray[np.float64]:
        """What a question costs each in the mean, by what was paid; 0 for those that are not in the race."""
        paid = [sum(getattr(outcome, what) or 0.0 for outcome in outcomes) for outcomes in self._outcomes]
        return np.where(self._in, np.array(paid) / max(self.asked, 1), 0.0)

    def _left(self, what: str) -> float:
        """What may yet be spent on the race: the limit without what was spent, and what is held back for the end."""
        rates, best = self._rates(what), max(self.racing(), key=self.score)
        after = rates[best]
        if self.rules.direct is not None and self.rules.direct != best:
            after += np.mean([getattr(outcome, what) or 0.0 for outcome in self._outcomes[self.rules.direct]])
        return float(getattr(self.rules, what) - self.spent(what) - self.rules.aside * after)

    def _need(self, what: str) -> float:
        """What it would cost to ask all who are left to the end, over what is left for it; 0 without a limit."""
        if getattr(self.rules, what) is None:
            return 0.0
        rest = self._rates(what).sum() * (self.rules.questions - self.asked)
        left = self._left(what)
        return float(rest / left) if left > 0 else float("inf")
