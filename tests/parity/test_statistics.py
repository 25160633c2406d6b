"""Intervals and tests against values of SciPy 1.17.1, which the project does without, and of random draws."""

import pytest

from eval.figures.statistics import difference_interval, interval, paired_test

SPREAD = [round(((37 * i) % 101) / 100, 2) ** 2 for i in range(80)]
LIKE_F1 = [0] * 30 + [1] * 20 + [0.4, 0.5, 0.5, 0.8, 0.667, 0.286, 0.25, 0.5, 0.4, 0.857]
DIFFERENCES = [0.5, 0.25, -0.1, 0.3, 0.2, 0.4, -0.3, 0.15, 0.6, 0.1]
MANY = [round(((37 * i) % 101 - (53 * i) % 101) / 100 + 0.03, 2) for i in range(200)]


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),  # binomtest(right, n).proportion_ci(method="wilson")
    [
        (0, 5, 0.0, 0.43448246478317476),
        (3, 10, 0.10779126740630102, 0.6032218525388546),
        (50, 100, 0.4038315303659956, 0.5961684696340044),
        (212, 500, 0.3814241177938639, 0.467734781956292),
        (500, 500, 0.9923756595384479, 1.0),
    ],
)
def test_wilson(right: int, n: int, low: float, high: float) -> None:
    assert interval([1] * right + [0] * (n - right)) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("scores", "low", "high"),  # bootstrap((scores,), mean, n_resamples=200_000, method="BCa", rng=default_rng(3))
    [(SPREAD, 0.2736175, 0.4068979), (LIKE_F1, 0.3072187, 0.53755)],
)
def test_bca(scores: list[float], low: float, high: float) -> None:
    assert interval(scores) == pytest.approx((low, high), abs=0.003)  # both are random


@pytest.mark.parametrize(
    ("better", "worse", "p"),  # n = better + worse; binomtest(better, n).pvalue - binom.pmf(better, n, 0.5): mid-p
    [
        (6, 1, 0.0703125),
        (5, 0, 0.03125),
        (30, 14, 0.0160943600),
        (60, 30, 0.0015165132),
    ],
)
def test_mcnemar_mid_p(better: int, worse: int, p: float) -> None:
    assert paired_test([1] * better + [-1] * worse + [0] * 9) == pytest.approx(p, abs=1e-6)


def test_the_bayesian_bootstrap_with_one_question_on_either_side() -> None:
    # means = default_rng(3).dirichlet([1] * (n + 2), 1_000_000) @ [*differences, -1, 1]: quantiles, and twice the share
    # of means below 0
    assert difference_interval(DIFFERENCES) == pytest.approx((-0.11421, 0.41432), abs=0.001)
    assert paired_test(DIFFERENCES) == pytest.approx(0.18959, abs=0.002)
    assert difference_interval(MANY) == pytest.approx((-0.02265, 0.08735), abs=0.001)
    assert paired_test(MANY) == pytest.approx(0.24776, abs=0.002)
