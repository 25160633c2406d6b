"""The compiled loops against what they stand for, written with NumPy and torch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval.colbert import kernels

pytestmark = pytest.mark.needs("colbert", "numba")


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 4), st.integers(0, 3))
def test_the_nearest_centroids_of_equal_ones_are_the_first(seed: int, centroids: int, tokens: int, first: int) -> None:
    nearness = np.random.default_rng(seed).integers(-3, 3, (centroids, first + tokens + 2)).astype(np.float32)
    count = min(5, centroids)
    cells, near = kernels.nearest_centroids(nearness, first, tokens, count)
    asked = nearness[:, first : first + tokens].T
    expected = np.argsort(-asked, axis=1, kind="stable")[:, :count]
    assert cells.tolist() == expected.tolist()
    assert near.tolist() == np.take_along_axis(asked, expected, 1).tolist()


@given(st.integers(0, 2**32), st.integers(1, 400), st.sampled_from([7, 40_000, 100_000]))
@settings(max_examples=30)
def test_a_token_counts_once_for_a_passage(seed: int, limit: int, passages: int) -> None:
    drawn = np.random.default_rng(seed)
    lists = [np.unique(drawn.integers(0, passages, drawn.integers(0, 60))).astype(np.int32) for _ in range(12)]
    tokens = np.sort(drawn.integers(0, 3, 12))
    gains = drawn.integers(0, 4, 12).astype(np.float32)
    ends = np.cumsum([len(part) for part in lists])
    sums: dict[int, dict[int, float]] = {}
    for part, token, gain in zip(lists, tokens.tolist(), gains.tolist(), strict=True):
        for row in part.tolist():
            sums.setdefault(row, {}).setdefault(token, gain)
    expected = sorted(sums, key=lambda row: (-sum(sums[row].values()), row))[:limit]
    begins = ends - [len(part) for part in lists]
    found, gained = kernels.best_candidates(np.concatenate(lists), begins, ends, tokens, gains, passages, limit)
    assert sorted(found.tolist()) == sorted(expected)
    assert gained.tolist() == [sum(sums[row].values()) for row in found.tolist()]


def test_lists_that_are_out_of_order_are_read_within_their_bounds() -> None:
    ivf = np.array([70_000, -5, 3, 2**31 - 1, 40_000], np.int32)
    found, _ = kernels.best_candidates(
        ivf, np.array([0]), np.array([5]), np.array([0]), np.ones(1, np.float32), 80_000, 10
    )
    assert set(found.tolist()) <= set(range(80_000))


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_maxsim_is_that_of_the_normalised_vectors(width: int) -> None:
    drawn = np.random.default_rng(0)
    lengths = np.array([1, 0, 4, 5, 2, 9])
    begins, total = np.cumsum(lengths) - lengths, int(lengths.sum())
    centroids, query = (drawn.standard_normal((n, 64)).astype(np.float32) for n in (10, 7))
    numbers = drawn.standard_normal((256, width)).astype(np.float32)
    codes = drawn.integers(0, 10, total).astype(np.int32)
    residuals = drawn.integers(0, 256, (total, 64 // width)).astype(np.uint8)
    vectors = torch.nn.functional.normalize(
        torch.from_numpy(centroids[codes] + numbers[residuals].reshape(total, 64)), dim=-1
    )
    for near, compute in (
        (
            vectors.numpy() @ query.T,
            lambda scores: kernels.maxsim(codes, residuals, begins, lengths, centroids, numbers, query, scores),
        ),
        (
            (centroids @ query.T)[codes],
            lambda scores: kernels.maxsim_of_centroids(codes, begins, lengths, centroids @ query.T, 0, scores, 7),
        ),
    ):
        ends = begins + lengths
        expected = [near[b:e].max(0).sum() if b < e else 7 * -9999 for b, e in zip(begins, ends, strict=True)]
        scores = np.zeros(6, np.float32)
        assert compute(scores)
        assert scores.tolist() == pytest.approx(expected, rel=1e-5)
        for wrong in -1, 10:
            kept, codes[0] = codes[0], wrong
            assert not compute(scores)
            codes[0] = kept
