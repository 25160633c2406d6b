"""A Ray cluster of several nodes on this machine, which leaves nothing behind."""

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["WITH_RAY", "ray_cluster", "short_folder"]

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"

WITH_RAY = [
    pytest.mark.needs("ray"),
    pytest.mark.xdist_group("ray"),
    *(pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning", "UserWarning")),
]
"""The marks of tests that use Ray: one process has all of them, and Ray warns of much."""

_STORE = 80 * 2**20  # bytes; Ray wants at least 75 MB


@contextmanager
def ray_cluster(*cpus: int) -> Iterator[Any]:
    """A cluster with a head that does no work and one node with so many CPUs for each number; this process is connected
    to it. Yields `ray.cluster_utils.Cluster`."""
    with short_folder() as folder, warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))  # where the doubles are
        patch.setenv("RAY_TMPDIR", str(folder))  # the file with the cluster's address is in its folder `ray`
        (folder / "ray").mkdir()
        warnings.simplefilter("ignore")  # Ray's own
        import ray
        from ray.cluster_utils import Cluster

        own = {"object_store_memory": _STORE, "include_dashboard": False, "temp_dir": str(folder)}
        cluster = Cluster(initialize_head=True, head_node_args={**own, "num_cpus": 0})
        try:
            for count in cpus:
                cluster.add_node(num_cpus=count, **own)
            ray.init(cluster.address, logging_level="ERROR", log_to_driver=False)
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a name so short that the sockets in it have names that the system takes: up to 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="r"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
