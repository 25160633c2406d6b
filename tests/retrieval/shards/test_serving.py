import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.ray_cluster import WITH_RAY, ray_cluster

from odqa.errors import ShardError
from retrieval import Memory, Passage, UsageError
from retrieval.bm25 import BM25
from retrieval.corpora import SAMPLE, read
from retrieval.shards import serving, split
from retrieval.shards.serving import deployed

pytestmark = WITH_RAY

QUERIES = ["chemist who discovered samarium", "the river in the city"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_cluster(3) as cluster:
        yield cluster


def test_a_cluster_finds_what_the_whole_index_finds_and_says_which_shard_is_down(cluster: Any, tmp_path: Path) -> None:
    import ray

    whole = BM25.build(read(SAMPLE), tmp_path / "whole")
    directories = split(whole, tmp_path / "parts", 2)
    with deployed(f"shards:{tmp_path / 'parts'}", address=None, timeout=20) as front:
        for k in (3, 10):
            assert front.batch(QUERIES, k) == whole.batch(QUERIES, k)
            assert [p.score for p in front(QUERIES[0], k)] == [p.score for p in whole(QUERIES[0], k)]
        front.check()
        other = BM25.build([Passage("other", "Samarium in another index")], tmp_path / "other")
        with deployed(f"bm25:{tmp_path / 'other'}", address=None, timeout=20) as beside:
            assert beside.batch(QUERIES, 3) == other.batch(QUERIES, 3)
            assert front.batch(QUERIES, 3) == whole.batch(QUERIES, 3)

        shutil.rmtree(directories[1])  # so that it cannot be started again
        (replica,) = [
            a for a in ray.util.list_named_actors(all_namespaces=True) if re.search(r"dspy-odqa-\w+-1#", a["name"])
        ]
        ray.kill(ray.get_actor(replica["name"], namespace=replica["namespace"]))
        for ask in front.check, lambda: front(QUERIES[0], 3):
            with pytest.raises(ShardError, match=r"^shard 1 (is down|does not answer in time): bm25:.*/parts/1"):
                ask()


@pytest.mark.slow
def test_what_cannot_be_deployed_is_refused(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    BM25.build(read(SAMPLE), tmp_path / "whole")
    with pytest.raises(UsageError, match="at least 1 process, not 0"), deployed("sample", address=None, replicas=0):
        pass
    with pytest.raises(UsageError, match="has 3 CPUs"), deployed("sample", address=None, replicas=4):
        pass
    with pytest.raises(UsageError, match="there are no shards"), deployed(f"shards:{tmp_path}", address=None):
        pass
    asking = Memory([])
    asking.asks_lm = True
    monkeypatch.setattr(serving, "load", {"hipporag:here": asking}.__getitem__)
    with pytest.raises(UsageError, match="hipporag:here asks an LM"), deployed("hipporag:here", address=None):
        pass
