"""How certain figures are: confidence intervals, paired tests, and the correction for several tests.

The questions count as a random sample of all that could have been asked. How an LM's answers vary from run to run is
not known here. All random numbers are seeded: the same scores give the same figures.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

__all__ = ["difference_interval", "gain_interval", "holm", "interval", "mean_interval", "paired_test", "ratio_interval"]

_RESAMPLES = 10_000
_FEW = 20  # scores other than the most frequent one; with fewer the bootstrap's intervals are too short
_STATES = 100_000  # at most that many sums are enumerated for an exact test
_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(0.975)  # for 95 %, two-sided


def interval(scores: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the mean of scores from 0 to 1.

    For scores that are all 0 or 1 it is Wilson's interval (1927), which is right for few questions too, and where all
    or none are right. For other scores it is a BCa bootstrap interval (Efron 1987). If fewer than 20 scores differ from
    the most frequent one, the bootstrap has too little to go by, and it is Wilson's again. That is then too wide rather
    than too narrow, because no scores from 0 to 1 with the same mean vary more than those that are all 0 or 1.

    Args:
        scores: At least one.
    """
    if set(scores) <= {0, 1} or _sparse(scores):
        return _wilson(math.fsum(scores) / len(scores), len(scores))
    return _bca(scores)


def difference_interval(differences: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the mean difference of two scores from 0 to 1 of the same question.

    If all differences are -1, 0 or 1, as between scores of 0 and 1, it is the interval of Bonett and Price (2012):
    Wald's with one question added on either side. For other differences it is a BCa bootstrap interval. If fewer than
    20 differ from the most frequent difference, which is mostly 0, it is Bonett and Price's again, which is then rather
    too wide.

    Args:
        differences: First score less second, of each question; at least one.
    """
    if set(differences) <= {-1, 0, 1} or _sparse(differences):
        return _bonett_price(differences)
    return _bca(differences)


def ratio_interval(over: Sequence[float], under: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of sum(over) / sum(under), where each question has a number in both.

    It comes from the percentile bootstrap over questions. A resample in which `under` sums to 0 gives an infinite
    ratio.

    Args:
        over: Numbers from 0 on, of each question.
        under: Likewise, in the same order; not all 0.
    """
    rng = np.random.default_rng(0)
    counts = rng.multinomial(len(over), np.full(len(over), 1 / len(over)), _RESAMPLES)
    sums, parts = counts @ np.asarray(over, float), counts @ np.asarray(under, float)
    ratios = np.divide(sums, parts, out=np.full(_RESAMPLES, np.inf), where=parts > 0)
    low, high = np.quantile(ratios, [0.025, 0.975], method="inverted_cdf")
    return float(low), float(high)


def gain_interval(better: Sequence[float], base: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % confidence interval of sum(better) / sum(base) - 1, of two scores of the same questions.

    It is that of `ratio_interval`. None if fewer than 20 questions have other scores than the most frequent pair:
    the bootstrap has too little to go by, and there is no other interval of a gain to take.

    Args:
        better: Scores from 0 on.
        base: Likewise, of the same questions in the same order; not all 0.
    """
    if _sparse(list(zip(better, base, strict=True))):
        return None
    low, high = ratio_interval(better, base)
    return low - 1, high - 1


def mean_interval(parts: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """The 95 % confidence interval of the mean of several means, each of other questions.

    It is made from the intervals of these means (MOVER: Zou and Donner 2008), and holds for few questions as they do.

    Args:
        parts: Each mean with the ends of its 95 % interval; at least one.
    """
    mean = math.fsum(value for value, _, _ in parts) / len(parts)
    below = math.hypot(*(value - low for value, low, _ in parts)) / len(parts)
    above = math.hypot(*(high - value for value, _, high in parts)) / len(parts)
    return mean - below, mean + above


def paired_test(differences: Sequence[float]) -> float:
    """The probability of a mean difference at least this far from 0 if the two runs were equally good (a p-value).

    This is the two-sided randomisation test: if the runs were equally good, the sign of each question's difference
    could as well be the other one. For scores of 0 and 1 it is McNemar's exact test. All choices of signs are
    enumerated where that is feasible; else 10,000 random choices and the observed one are taken.

    Args:
        differences: First score less second, of each question.
    """
    sizes = Counter(abs(difference) for difference in differences if difference)
    observed = abs(math.fsum(differences)) - 1e-9  # sums that differ by rounding only are as far from 0
    if math.prod(count + 1 for count in sizes.values()) <= _STATES:
        sums, chances = np.zeros(1), np.ones(1)
        for size, count in sizes.items():
            sums = np.add.outer(sums, size * np.arange(-count, count + 1, 2)).ravel()
            chances = np.multiply.outer(chances, _chances(count)).ravel()
        return min(1.0, float(chances[np.abs(sums) >= observed].sum()))
    rng = np.random.default_rng(0)
    sums = np.zeros(_RESAMPLES)
    for size, count in sizes.items():
        sums += size * (2 * rng.binomial(count, 0.5, _RESAMPLES) - count)
    return (1 + int((np.abs(sums) >= observed).sum())) / (1 + _RESAMPLES)


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values corrected for their number by Holm's step-down method (1979), in the order given.

    If all tests below a level are called significant, the chance that any of these calls is wrong is at most the level.
    """
    corrected = [0.0] * len(ps)
    largest = 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[at]))
        corrected[at] = largest
    return corrected


def _chances(n: int) -> list[float]:
    """How probable it is that of n coins 0, 1, … n show heads."""
    ways = math.lgamma(n + 1) - n * math.log(2)
    return [math.exp(ways - math.lgamma(heads + 1) - math.lgamma(n - heads + 1)) for heads in range(n + 1)]


def _sparse(values: Sequence[Hashable]) -> bool:
    return len(values) - max(Counter(values).values()) < _FEW


def _wilson(mean: float, n: int) -> tuple[float, float]:
    centre = (mean + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(mean * (1 - mean) / n + _Z**2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def _bonett_price(differences: Sequence[float]) -> tuple[float, float]:
    n = len(differences) + 2
    mean = math.fsum(differences) / n
    spread = (math.fsum(abs(difference) for difference in differences) + 2) / n - mean**2
    half = _Z * math.sqrt(spread / n)
    return max(-1.0, mean - half), min(1.0, mean + half)


def _bca(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    means = _resampled_means(values)
    below = (np.count_nonzero(means < mean) + np.count_nonzero(means <= mean)) / (2 * len(means))
    bias = _NORMAL.inv_cdf(below)
    deviations = np.asarray(values) - mean
    acceleration = float((deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5))  # the jackknife's, of a mean
    shares = []
    for z in (-_Z, _Z):
        shifted = bias + z
        shares.append(_NORMAL.cdf(bias + shifted / (1 - acceleration * shifted)))
    low, high = np.quantile(means, shares)
    return float(low), float(high)


def _resampled_means(values: Sequence[float]) -> NDArray[np.float64]:
    """Means of as many values drawn with replacement.

    Drawn is how often each distinct value occurs: the same, with fewer numbers, for scores repeat.
    """
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    rng = np.random.default_rng(0)
    blocks = [
        rng.multinomial(len(values), counts / len(values), _RESAMPLES // 10) @ distinct / len(values) for _ in range(10)
    ]
    return np.concatenate(blocks)
