"""Tests and intervals that hold at every look, shown by many races between equals."""

import numpy as np
import pytest
from numpy.typing import NDArray

from eval.choosing.betting import Evidence, lower_end, means_within

LEVEL = 0.05


def all_of(candidates: int) -> NDArray[np.bool_]:
    return ~np.eye(candidates, dtype=bool)


def lowest_p(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each candidate the lowest p that a look after any question shows."""
    evidence = Evidence(len(scores))
    for column in scores.T:
        evidence.add(column, all_of(len(scores)))
    return evidence.p


def equals(rng: np.random.Generator, kind: str) -> NDArray[np.float64]:
    """Scores of 8 candidates over 60 questions, none of them better than the first in the mean of all questions."""
    shares = rng.random((8, 60))
    match kind:
        case "alike":  # they differ on a few questions
            return np.where(rng.random(60) < 0.9, shares[0] < 0.4, shares < 0.4).astype(float)
        case "two of them":
            return (shares < np.array([0.4, 0.4, *[0.1] * 6])[:, None]).astype(float)
        case "graded":
            return shares
    return (shares < 0.4).astype(float)


@pytest.mark.parametrize("kind", ["independent", "alike", "two of them", "graded"])
def test_the_best_is_rarely_dropped_however_often_it_is_looked_at(kind: str) -> None:
    rng = np.random.default_rng(0)
    dropped = sum(lowest_p(equals(rng, kind))[0] <= LEVEL for _ in range(400))
    assert dropped / 400 <= LEVEL


def test_an_ordinary_test_that_is_looked_at_as_often_drops_the_best_too_often() -> None:
    rng = np.random.default_rng(0)
    dropped = 0
    for _ in range(400):
        best, *others = equals(rng, "independent")
        dropped += any(
            (ahead := max(others, key=lambda other: other[:n].sum())[:n] - best[:n]).sum()
            > 1.96 * np.sqrt((ahead**2).sum())
            for n in range(10, 60)
        )
    assert dropped / 400 > 3 * LEVEL


def test_a_candidate_that_is_worse_is_found_out() -> None:
    rng = np.random.default_rng(1)
    scores = (rng.random((3, 100)) < np.array([0.7, 0.65, 0.3])[:, None]).astype(float)
    p = lowest_p(scores)
    assert p[2] <= LEVEL
    assert p[0] > LEVEL


def test_the_wealth_of_the_bets_by_hand() -> None:
    evidence = Evidence(2)
    for ahead in (0.0, 1.0, 1.0):
        evidence.add(np.array([ahead, 0.0]), all_of(2))
    shares = [(n + 0.5) / 20 for n in range(20)]
    assert evidence.p.tolist() == [1.0, pytest.approx(20 / sum((1 + share) ** 2 for share in shares))]


def test_who_has_no_rival_is_not_tested() -> None:
    evidence = Evidence(2)
    for _ in range(20):
        evidence.add(np.array([0.0, 1.0]), np.array([[False, False], [True, False]]))
    assert evidence.p.tolist() == [1.0, 1.0]


@pytest.mark.slow
def test_intervals_hold_at_every_look() -> None:
    rng = np.random.default_rng(2)
    missed = 0
    for _ in range(200):
        scores = (rng.random(60) < 0.3).astype(float).tolist()
        ends = [means_within(scores[:n], LEVEL) for n in range(5, 61, 5)]
        missed += any(not low <= 0.3 <= high for low, high in ends)
    assert missed / 200 <= LEVEL


def test_ends_of_intervals() -> None:
    assert means_within([], LEVEL) == (0.0, 1.0)
    low, high = means_within([1.0] * 50, LEVEL)
    shares = [(n + 0.5) / 20 for n in range(20)]
    assert sum((1 + share * (1 / low - 1)) ** 50 for share in shares) / 20 == pytest.approx(2 / LEVEL)
    assert high == 1.0
    # The wealth of bets on a lower end: by hand for one score of 1, the mean of 1 + share * (1 / m - 1) is 1 / level.
    assert lower_end([1.0], 0.25) == pytest.approx(1 / 7, abs=1e-6)
    narrow, wide = means_within([0.5, 0.55] * 50, LEVEL), means_within([0.0, 1.0] * 50, LEVEL)
    assert narrow[1] - narrow[0] < (wide[1] - wide[0]) / 2
