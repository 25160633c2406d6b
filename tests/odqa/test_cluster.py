from typing import Any

import pytest
from support.ray_cluster import WITH_RAY

from odqa.cluster import connected
from retrieval import UsageError

pytestmark = WITH_RAY


@pytest.mark.parametrize(("address", "where"), [(None, "here"), ("10.0.0.1:6379", "at 10.0.0.1:6379")])
def test_a_cluster_that_does_not_start_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, address: str | None, where: str
) -> None:
    import ray

    def fail(*args: Any, **settings: Any) -> None:
        raise Exception("The current node timed out during startup.\nSee its log.")  # such as Ray raises

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", fail)
    said = f"^no Ray cluster {where} can be used: The current node timed"
    with pytest.raises(UsageError, match=said), connected(address):
        pass
