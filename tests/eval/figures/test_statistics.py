"""Properties of the intervals and tests, and how often they hold what they promise. SciPy's values: tests/parity."""

from collections.abc import Callable, Sequence
from itertools import product
from math import comb, fsum, inf

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eval.figures.statistics import (
    difference_interval,
    gain_interval,
    holm,
    interval,
    mean_interval,
    paired_test,
    ratio_interval,
)

SCORES = st.lists(st.sampled_from([0.0, 0.25, 0.4, 0.5, 2 / 3, 1.0]), min_size=1, max_size=60)
PS = st.lists(st.floats(0, 1), max_size=8)


def mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def binary(rng: np.random.Generator, n: int) -> list[float]:
    return list(rng.choice([0.0, 1.0], n, p=[0.6, 0.4]))


def like_f1(rng: np.random.Generator, n: int) -> list[float]:
    return list(rng.choice([0, 0.4, 0.5, 0.8, 1], n, p=[0.5, 0.05, 0.05, 0.05, 0.35]))


def like_recall(rng: np.random.Generator, n: int) -> list[float]:
    return list(rng.choice([0, 0.5, 1], n, p=[0.01, 0.06, 0.93]))


def like_difference(rng: np.random.Generator, n: int) -> list[float]:
    return list(rng.choice([-1, -0.4, 0, 0.5, 1], n, p=[0.03, 0.03, 0.84, 0.04, 0.06]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "draw", "truth", "n"),
    [
        (interval, binary, 0.4, 10),
        (interval, binary, 0.4, 200),
        (interval, like_f1, 0.435, 15),
        (interval, like_f1, 0.435, 150),
        (interval, like_recall, 0.96, 30),
        (interval, like_recall, 0.96, 400),
        (difference_interval, like_difference, 0.038, 30),
        (difference_interval, like_difference, 0.038, 300),
    ],
)
def test_the_interval_has_the_truth_in_it_as_often_as_it_says(
    method: Callable[[Sequence[float]], tuple[float, float]],
    draw: Callable[[np.random.Generator, int], list[float]],
    truth: float,
    n: int,
) -> None:
    rng = np.random.default_rng(7)
    intervals = [method(draw(rng, n)) for _ in range(200)]
    covered = mean([low <= truth <= high for low, high in intervals])
    assert 0.91 <= covered <= 1.0  # 95 %, less or more what 200 draws can be off


def of_three(seen: Sequence[float]) -> tuple[float, float]:
    """The interval of the mean of three means, which a third of the scores has each."""
    parts = [seen[part::3] for part in range(3)]
    return mean_interval([(mean(part), *interval(part)) for part in parts])


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 300])
def test_the_interval_of_a_mean_of_means_has_the_truth_in_it_as_often_as_it_says(n: int) -> None:
    rng = np.random.default_rng(7)
    intervals = [of_three([score for _ in range(n) for score in (*binary(rng, 1), *like_f1(rng, 1), 1.0)])
                 for _ in range(200)]  # fmt: skip
    covered = mean([low <= (0.4 + 0.435 + 1) / 3 <= high for low, high in intervals])
    assert 0.91 <= covered <= 1.0


@pytest.mark.slow
def test_the_interval_of_a_gain_has_the_truth_in_it_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    seen = []
    for _ in range(40):
        base, better = np.array(binary(rng, 150)), np.array(binary(rng, 150))
        ends = gain_interval(np.maximum(base, better).tolist(), base.tolist())
        assert ends is not None
        seen.append(ends[0] <= 0.6 <= ends[1])  # one of both is right in 64 of 100 cases, the first alone in 40
    assert 0.91 <= mean(seen) <= 1.0
    assert gain_interval([1.0] * 19 + [0.5] * 99, [0.5] * 118) is None  # too few that differ
    low, high = gain_interval([1.0] * 20 + [0.5] * 99, [0.5] * 119) or (inf, inf)
    assert 0 < low < 20 / 119 < high


def test_two_equal_runs_differ_significantly_as_seldom_as_the_level_says() -> None:
    rng = np.random.default_rng(7)
    for draw in binary, like_f1:
        ps = [paired_test(np.subtract(draw(rng, 80), draw(rng, 80)).tolist()) for _ in range(200)]
        assert mean([p < 0.05 for p in ps]) <= 0.09


@settings(max_examples=50)
@given(scores=SCORES)
def test_properties_of_the_interval(scores: list[float]) -> None:
    low, high = interval(scores)
    assert 0 <= low <= mean(scores) + 1e-12
    assert mean(scores) - 1e-12 <= high <= 1
    assert low < high
    assert interval(scores[::-1]) == pytest.approx((low, high))
    mirrored = interval([1 - score for score in scores])
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=0.02)  # the bootstrap draws differently
    assert interval(scores * 16)[1] - interval(scores * 16)[0] < high - low


@settings(max_examples=50)
@given(pairs=st.lists(st.tuples(st.sampled_from([0.0, 0.4, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1))
def test_properties_of_differences(pairs: list[tuple[float, float]]) -> None:
    differences = [one - other for one, other in pairs]
    low, high = difference_interval(differences)
    assert -1 <= low <= mean(differences) <= high <= 1
    assert low < high
    assert difference_interval([-d for d in differences]) == pytest.approx((-high, -low), abs=1e-6)
    p = paired_test(differences)
    assert 0 < p <= 1 + 1e-9
    assert paired_test([-d for d in differences]) == pytest.approx(p, abs=1e-6)
    assert paired_test([*differences, 0.0, 0.0]) == pytest.approx(
        p, abs=1e-6
    )  # questions on which the runs agree say nothing


@settings(max_examples=200)
@given(differences=st.lists(st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.1, 0.3, 1.0]), min_size=1, max_size=60))
def test_the_interval_leaves_out_0_exactly_where_p_is_below_5_percent(differences: list[float]) -> None:
    low, high = difference_interval(differences)
    p = paired_test(differences)
    assume(abs(p - 0.05) > 1e-6)  # on the very edge the last digits decide
    assert (low > 0 or high < 0) == (p < 0.05)


@given(better=st.integers(0, 12), worse=st.integers(0, 12), same=st.integers(0, 30))
def test_of_right_and_wrong_the_test_is_mcnemars_mid_p(better: int, worse: int, same: int) -> None:
    n = better + worse
    ways = [comb(n, k) for k in range(min(better, worse) + 1)]
    expected = min(1.0, (2 * sum(ways) - ways[-1]) / 2**n)
    assert paired_test([1] * better + [-1] * worse + [0] * same) == pytest.approx(expected, abs=1e-6)


def test_a_p_value_is_never_0() -> None:
    assert 0 < paired_test([1.0] * 5000) < 1e-6


def test_worked_by_hand() -> None:
    # No question differs: near Bonett and Price's, 1.96 * sqrt(2) / 42.
    assert difference_interval([0.0] * 40) == pytest.approx((-0.066, 0.066), abs=0.005)
    # Near Bonett and Price's: 8 better, 2 worse of 38: (9 - 3) / 40, and 1.96 * sqrt(((9 + 3) / 40 - 0.15 ** 2) / 40).
    assert difference_interval([1] * 8 + [-1] * 2 + [0] * 28) == pytest.approx((-0.0132, 0.3132), abs=0.005)
    assert paired_test([0.0, 0.0]) == paired_test([]) == 1
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.5]) == [1, 1]
    assert holm([]) == []


@given(ps=PS)
def test_properties_of_holm(ps: list[float]) -> None:
    corrected = holm(ps)
    assert all(p <= c <= min(1, len(ps) * p) for p, c in zip(ps, corrected, strict=True))
    for (p, c), (q, d) in product(zip(ps, corrected, strict=True), repeat=2):
        assert p > q or c <= d


def test_the_interval_of_a_ratio_of_sums() -> None:
    over, under = [2.0, 0.0, 1.0, 3.0] * 25, [1.0, 1.0, 0.0, 2.0] * 25
    low, high = ratio_interval(over, under)
    assert 1.2 < low < 1.5 < high < 1.9
    assert ratio_interval(over, under) == (low, high)
    assert ratio_interval([3.0] * 5, [2.0] * 5) == (1.5, 1.5)
    # With one question of two that has something to divide by, a quarter of the resamples have nothing.
    assert ratio_interval([1.0, 1.0], [0.0, 1.0]) == (1.0, inf)
