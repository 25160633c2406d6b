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
_LEVEL = 0.05
_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(1 - _LEVEL / 2)
_EXACT = 1e-7  # the error of a p-value: none is given as 0
_CLOSE = 1e-7  # how near to each other the ends are between which a quantile lies
_STEP = 0.02
_GRID = np.exp(np.arange(-7, 12, _STEP))  # where the integrand is taken, in standard deviations of the sum


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

    It leaves out 0 exactly where `paired_test` gives less than 0.05, for both are read off one distribution: that of
    the mean under the Bayesian bootstrap (Rubin 1981), with one question added on either side, as Bonett and Price
    (2012) add one to their interval. So few questions, or differences that are mostly 0, give a wide interval and not
    an empty one. For scores of 0 and 1 of 40 questions it is within a few thousandths Bonett and Price's own.

    Args:
        differences: First score less second, of each question; at least one.
    """
    values, counts = _with_one_on_either_side(differences)
    mean = math.fsum(differences) / len(differences)
    low, high = _quantile(values, counts, _LEVEL / 2), _quantile(values, counts, 1 - _LEVEL / 2)
    return min(low, mean), max(high, mean)  # the mean of differences that are all 1 lies above all of the distribution


def ratio_interval(over: Sequence[float], under: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of sum(over) / sum(under), where each question has a number from 0 on in both.

    It comes from the percentile bootstrap over questions. A resample in which `under`, which is not all 0, sums to 0
    gives an infinite ratio.
    """
    rng = np.random.default_rng(0)
    counts = rng.multinomial(len(over), np.full(len(over), 1 / len(over)), _RESAMPLES)
    sums, parts = counts @ np.asarray(over, float), counts @ np.asarray(under, float)
    ratios = np.divide(sums, parts, out=np.full(_RESAMPLES, np.inf), where=parts > 0)
    low, high = np.quantile(ratios, [0.025, 0.975], method="inverted_cdf")
    return float(low), float(high)


def gain_interval(better: Sequence[float], base: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % confidence interval of sum(better) / sum(base) - 1, of two scores from 0 on of the same questions.

    It is that of `ratio_interval`. None if fewer than 20 questions have other scores than the most frequent pair:
    the bootstrap has too little to go by, and there is no other interval of a gain to take.
    """
    if _sparse(list(zip(better, base, strict=True))):
        return None
    low, high = ratio_interval(better, base)
    return low - 1, high - 1


def mean_interval(parts: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """The 95 % confidence interval of the mean of several means, each of other questions and given with its interval.

    It is made from these intervals (MOVER: Zou and Donner 2008), and holds for few questions as they do.
    """
    mean = math.fsum(value for value, _, _ in parts) / len(parts)
    below = math.hypot(*(value - low for value, low, _ in parts)) / len(parts)
    above = math.hypot(*(high - value for value, _, high in parts)) / len(parts)
    return mean - below, mean + above


def paired_test(differences: Sequence[float]) -> float:
    """How surprising a mean difference this far from 0 is if the two runs are equally good (a p-value, two-sided).

    It is twice the share of the distribution of `difference_interval` that lies on the other side of 0. For scores of 0
    and 1 that is McNemar's mid-p test, which Fagerland, Lydersen and Laake (2013) recommend over the exact test: that
    one calls too few differences significant. Questions on which the runs agree do not change it.

    Args:
        differences: First score less second, of each question.
    """
    below = _share_below(*_with_one_on_either_side(differences), 0.0)
    return min(1.0, max(_EXACT, 2 * min(below, 1 - below)))


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


def _with_one_on_either_side(differences: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The different values, and how many questions have each, with a question at -1 and one at 1 more."""
    values, counts = np.unique(np.asarray([-1.0, *differences, 1.0]), return_counts=True)
    return values, counts


def _share_below(values: NDArray[np.float64], counts: NDArray[np.int64], mean: float) -> float:
    """The probability of a mean of at most `mean` where the questions' weights have Dirichlet's distribution.

    Such weights are exponential variables over their sum: a sum of gamma variables with the factors `values - mean` is
    at most 0. The integral is that of Gil-Pelaez (1951), as Imhof (1961) takes it for sums of chi-squares.
    """
    factors = values - mean
    scaled = np.outer(_GRID / math.sqrt(float(counts @ factors**2)), factors)
    angles = np.arctan(scaled) @ counts  # of the characteristic function, along the grid
    sizes = np.exp(-0.5 * (np.log1p(scaled**2) @ counts))
    before = float(angles[0])  # the integral up to the grid, where the sine of an angle is the angle
    integral = before + _STEP * float((np.sin(angles) * sizes)[1:].sum() + np.sin(angles[0]) * sizes[0] / 2)
    return min(1.0, max(0.0, 0.5 - integral / math.pi))


def _quantile(values: NDArray[np.float64], counts: NDArray[np.int64], share: float) -> float:
    """The mean below which this share of the distribution lies, by the rule of Illinois: linear interpolation between
    two means on either side, where an end that stays counts half."""
    low, high = -1.0, 1.0  # all of the distribution
    at_low, at_high = -share, 1 - share
    while high - low > _CLOSE:
        middle = min(max((low * at_high - high * at_low) / (at_high - at_low), low + _CLOSE / 2), high - _CLOSE / 2)
        at_middle = _share_below(values, counts, middle) - share
        if at_middle < 0:
            low, at_low, at_high = middle, at_middle, at_high / 2
        else:
            high, at_high, at_low = middle, at_middle, at_low / 2
    return (low + high) / 2


def _sparse(values: Sequence[Hashable]) -> bool:
    return len(values) - max(Counter(values).values()) < _FEW


def _wilson(mean: float, n: int) -> tuple[float, float]:
    centre = (mean + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(mean * (1 - mean) / n + _Z**2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)


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
    """Means of as many values drawn with replacement, by how often each distinct value is drawn: scores repeat."""
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    rng = np.random.default_rng(0)
    blocks = [
        rng.multinomial(len(values), counts / len(values), _RESAMPLES // 10) @ distinct / len(values) for _ in range(10)
    ]
    return np.concatenate(blocks)
