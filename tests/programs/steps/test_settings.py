import pytest

from programs.steps.settings import require_counts
from retrieval import UsageError


def test_counts_from_one_on_and_defaults_pass() -> None:
    require_counts(k=1, rounds=None, m=1000)


@pytest.mark.parametrize("count", [0, -3])
def test_a_count_below_one_is_refused_by_its_name(count: int) -> None:
    with pytest.raises(UsageError, match=f"turns must be at least 1, not {count}"):
        require_counts(k=5, turns=count)
