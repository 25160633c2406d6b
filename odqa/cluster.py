"""Ray: work in several processes, on this machine or on many."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from odqa.errors import UsageError
from odqa.extras import needing
from odqa.http import one_line

__all__ = ["Workers", "connected", "gpus_each", "import_ray", "workers_in"]

_STORE = 256 * 2**20  # bytes of memory for what processes hand each other; indexes and models are not there


@dataclass(frozen=True, slots=True)
class Workers:
    """Processes that share work.

    Raises:
        UsageError: there is to be none.
    """

    count: int | None = None
    """How many; by default one for each CPU, or where GPUs can be of use one for each, if there are any."""
    address: str | None = None
    """Of a Ray cluster, as `connected` takes it; None for processes on this machine alone."""

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 1:
            raise UsageError(f"there must be at least 1 worker, not {self.count}")


def import_ray() -> Any:
    """The package.

    Raises:
        UsageError: the extra is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray has no other way to be told: it would report its use
    with needing("ray"):
        import ray
    return ray


@contextmanager
def connected(address: str | None, *, cpus: int | None = None) -> Iterator[Any]:
    """Gives Ray's package, connected to a cluster while the block runs.

    A connection that this process has already is used, and stays.

    Args:
        address: Of the cluster's head, such as 10.0.0.1:6379 or ray://10.0.0.1:10001; "auto" for the cluster that this
            machine belongs to, or else as None, which starts one here for the block alone.
        cpus: How many processes may work in a cluster that is started here; as many as there are cores by default.

    Raises:
        UsageError: the extra is not installed, or no cluster answers.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    with _same_signals():
        try:
            _connect(ray, address, cpus)
        except Exception as error:  # Ray raises a plain one where its processes do not start in time
            where = f"at {address}" if address else "here"
            raise UsageError(f"no Ray cluster {where} can be used: {one_line(error)}") from error
        try:
            yield ray
        finally:
            ray.shutdown()


def _connect(ray: Any, address: str | None, cpus: int | None) -> None:
    if address is not None:
        try:
            ray.init(address, logging_level="WARNING")
            return
        except ConnectionError:
            if address != "auto":
                raise
    ray.init("local", num_cpus=cpus, object_store_memory=_STORE, include_dashboard=False, logging_level="WARNING")


def workers_in(ray: Any, wanted: int | None) -> int:
    """How many processes to start in the cluster: as many as wanted, or one for each of its CPUs.

    Raises:
        UsageError: the cluster has fewer CPUs than are wanted.
    """
    there = int(ray.cluster_resources().get("CPU", 0))
    if there < (wanted or 1):
        raise UsageError(f"the Ray cluster has {there} CPUs, too few for {wanted or 1} workers: ask for fewer")
    return wanted or there


def gpus_each(ray: Any, workers: int) -> float:
    """The share of a GPU for each of so many processes; 0 where the cluster has none."""
    gpus = int(ray.cluster_resources().get("GPU", 0))
    return min(1.0, 1 / -(-workers // gpus)) if gpus else 0.0


@contextmanager
def _same_signals() -> Iterator[None]:
    """Leave SIGTERM as it is: Ray sets it to what suits its own processes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
