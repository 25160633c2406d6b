from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from retrieval.candidates import Candidates, best_places, chosen

QUERY = np.zeros((1, 1), np.float32)


@given(st.integers(0, 2**32), st.integers(4, 40), st.lists(st.integers(0, 40), min_size=1, max_size=4))
def test_parts_choose_what_the_whole_chooses(seed: int, limit: int, sizes: list[int]) -> None:
    drawn = np.random.default_rng(seed)
    votes, ranks = (drawn.integers(0, 5, sum(sizes)).astype(np.float32) for _ in range(2))  # many are equal
    (expected,) = chosen([_of(votes, ranks, limit)])

    ends = np.cumsum([0, *sizes]).tolist()
    rows = chosen([_of(votes[begin:end], ranks[begin:end], limit) for begin, end in pairwise(ends)])
    found = [row + begin for part, begin in zip(rows, ends, strict=False) for row in part.tolist()]
    assert found == expected.tolist()

    first = sorted(range(len(votes)), key=lambda row: (-votes[row], row))[:limit]
    second = sorted(first, key=lambda row: (-ranks[row], row))[: limit // 4]
    assert found == sorted(second)


def _of(votes: np.ndarray, ranks: np.ndarray, limit: int) -> Candidates:
    rows = best_places(votes, limit)
    return Candidates(QUERY, rows, votes[rows], ranks[rows], limit)
