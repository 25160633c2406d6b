"""Evidence that may be looked at after every question: tests and intervals by betting.

Whoever bets against a hypothesis in fair games, and never more than there is, has a wealth whose mean is at most 1 as
long as the hypothesis is true. So the chance that the wealth ever reaches 1 / level is at most the level (Ville 1939),
however often it is looked at and whatever is done then. Waudby-Smith and Ramdas ("Estimating means of bounded random
variables by betting", JRSS B 86:1, 2024; arXiv 2010.09686) bet so on the mean of bounded numbers, with and without
replacement.

Of the methods that hold at every look, betting is taken because scores of the same question are much alike: most paired
differences are 0, and a bet wins by how seldom they are not, where bounds such as Hoeffding's reckon with the widest
spread. The questions count as drawn from all that could be asked, as elsewhere in this house: without replacement the
test would know everything when all were asked, but only of these questions. Each bet is a mixture of constant shares of
the wealth, which needs no tuning, as in Cover's universal portfolios. Predicted scores (arXiv 2605.10405) and prior
knowledge (arXiv 2605.07964) would make it somewhat sharper, and are not used.
"""

from collections import Counter
from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

__all__ = ["Evidence", "lower_end", "means_within"]

_SHARES = (np.arange(20) + 0.5) / 20  # of the largest bet that cannot lose more than there is
_CLOSE = 1e-9
_ENDS = 40  # halvings of an interval by which an end is found


class Evidence:
    """For each candidate, how surprising its scores are if no rival of it has a higher mean over questions like these.

    A candidate's wealth bets, on each question, that the rival which is best so far scores higher than it. Whoever is
    the best so far is known before the question, so no correction for the number of rivals is needed: the chance that
    the best of all is ever below a level is at most the level.

    The order of the questions has to be drawn at random, and who is asked a question has to be known before it.

    Args:
        candidates: How many there are.
    """

    def __init__(self, candidates: int) -> None:
        self.totals = np.zeros(candidates)
        """The sums of the scores so far; of one that is asked no more, up to then."""
        self.p = np.ones(candidates)
        """How surprising they are: probabilities that hold at every look."""
        self._wealth = np.ones((candidates, len(_SHARES)))

    def add(self, scores: NDArray[np.float64], rivals: NDArray[np.bool_]) -> None:
        """Take the scores of the next question.

        Args:
            scores: From 0 to 1, of each candidate; of one that is asked no more, any number.
            rivals: Shape (candidates, candidates): who is a rival of the candidate of the row. Rivals have been asked
                all questions so far. A candidate without any is not tested.
        """
        has_rivals = rivals.any(axis=1)
        rivals = rivals[has_rivals]
        totals = np.where(rivals, self.totals, -inf)
        best = totals.max(axis=1, initial=-inf)
        leading = totals >= best[:, None] - _CLOSE  # if several are, the bet is on their mean
        ahead = (leading * scores).sum(axis=1) / leading.sum(axis=1) - scores[has_rivals]
        self._wealth[has_rivals] *= 1 + _SHARES * ahead[:, None]
        self.p = np.minimum(self.p, 1 / np.maximum(self._wealth.mean(axis=1), 1))
        self.totals += scores


def means_within(scores: Sequence[float], level: float) -> tuple[float, float]:
    """The interval of the mean of all questions of the kind that these are drawn from.

    It holds at every look: the chance that the mean ever is outside is at most the level.

    Args:
        scores: From 0 to 1; if there is none, the interval is all of that.
        level: Of both ends together.
    """
    return lower_end(scores, level / 2), 1 - lower_end([1 - score for score in scores], level / 2)


def lower_end(scores: Sequence[float], level: float) -> float:
    """The mean below which bets that the scores are higher have won 1 / level: the lower end of their interval."""
    counted = Counter(scores)
    values, counts = np.array(list(counted)), np.array(list(counted.values()))

    def is_excluded(mean: float) -> bool:
        # The bet is at most 1 / mean of the wealth, since a score is at least 0.
        with np.errstate(divide="ignore"):
            logs = np.log1p(np.outer(_SHARES, values / mean - 1)) @ counts
        return bool(np.logaddexp.reduce(logs) - np.log(len(_SHARES)) >= -np.log(level))

    low, high = 0.0, 1.0
    for _ in range(_ENDS if scores else 0):  # the wealth falls as the mean rises
        middle = (low + high) / 2
        low, high = (middle, high) if is_excluded(middle) else (low, middle)
    return low
