"""Shards on a Ray cluster: Ray Serve keeps processes for each, starts them again when they die and shares out the work.

The front, which merges, is a retriever like any other: `retrieval.remote.server` serves it.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from retrieval.base import Retriever
from retrieval.cluster import connected
from retrieval.errors import OdqaError, RetrievalError, UsageError
from retrieval.http import one_line
from retrieval.passage import Passage
from retrieval.shards.build import directories_of
from retrieval.shards.search import Sharded
from retrieval.specs import load

__all__ = ["deployed"]

_APPLICATION = "dspy-odqa-{}"
_IN_TIME = 0.8  # of the time in which the client gets a reply: left to a shard, for the error to name it


@contextmanager
def deployed(spec: str, *, address: str | None, replicas: int = 1, timeout: float = 10.0) -> Iterator[Retriever]:
    """Deploy the shards of an index for as long as the block runs, and give a retriever that asks them.

    Args:
        spec: `shards:DIR`, with a directory that each machine of the cluster has; or another retriever, which is one
            shard.
        address: The cluster; see `retrieval.cluster.connected`.
        replicas: Processes for each shard, each with a CPU.
        timeout: Seconds in which a search has to be answered.

    Raises:
        UsageError: the extra is not installed, there is no such cluster, it is too small, or a shard cannot be opened.
        RetrievalError: (in searches) a shard does not answer.
    """
    if replicas < 1:
        raise UsageError(f"each shard needs at least 1 process, not {replicas}")
    scheme, _, path = spec.partition(":")
    shards = [f"{kind}:{folder.resolve()}" for kind, folder in directories_of(path)] if scheme == "shards" else [spec]
    needed = len(shards) * replicas
    with connected(address, cpus=needed) as ray:
        from ray import serve

        there = int(ray.cluster_resources().get("CPU", 0))
        if there < needed:
            raise UsageError(
                f"the Ray cluster has {there} CPUs, and {len(shards)} shards with {replicas} processes need more"
            )
        names = [_APPLICATION.format(number) for number in range(len(shards))]
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(proxy_location="Disabled", logging_config={"log_level": "ERROR"})
        try:
            deployment = serve.deployment(_Shard, num_replicas=replicas, ray_actor_options={"num_cpus": 1})
            targets = [
                serve.RunTarget(deployment.bind(shard), name, route_prefix=None)
                for name, shard in zip(names, shards, strict=True)
            ]
            try:
                handles = serve.run_many(targets)
            except RuntimeError as error:
                raise UsageError(f"{spec} cannot be opened in the Ray cluster: {one_line(error)}") from error
            asked = [
                _Asked(ray, handle, shard, _IN_TIME * timeout) for handle, shard in zip(handles, shards, strict=True)
            ]
            yield Sharded(asked)
        finally:
            for name in names:
                serve.delete(name, _blocking=False)  # else it waits for ever where the cluster has just been ended


class _Shard:
    """What runs in a process of the cluster: one shard, opened."""

    def __init__(self, spec: str) -> None:
        self._retriever = load(spec)

    def __call__(self, queries: Sequence[str], k: int) -> list[list[Passage]] | OdqaError:
        try:
            return self._retriever.batch(queries, k)
        except OdqaError as error:
            return error


class _Asked:
    """A shard as the front sees it; see `retrieval.shards.search.Shard`."""

    def __init__(self, ray: Any, handle: Any, name: str, timeout: float) -> None:
        self._ray = ray
        self._handle = handle
        self._name = name
        self._timeout = timeout

    def __call__(self, queries: Sequence[str], k: int) -> "_Begun":
        return _Begun(self, self._handle.remote(list(queries), k), time.monotonic() + self._timeout)

    def wait(self, answer: Any, end: float) -> list[list[Passage]]:
        """What the shard answers until then.

        Raises:
            RetrievalError: it does not, or its index is damaged.
        """
        try:
            found: list[list[Passage]] | OdqaError = answer.result(timeout_s=max(end - time.monotonic(), 0.0))
        except TimeoutError as error:
            raise RetrievalError(f"the shard {self._name} does not answer within {self._timeout:g} s") from error
        except self._ray.exceptions.RayError as error:
            raise RetrievalError(f"the shard {self._name} is down: {one_line(error)}") from error
        if isinstance(found, OdqaError):
            raise RetrievalError(f"the shard {self._name} failed: {found}") from found
        return found


class _Begun:
    def __init__(self, asked: _Asked, answer: Any, end: float) -> None:
        self._asked, self._answer, self._end = asked, answer, end

    def __call__(self) -> list[list[Passage]]:
        return self._asked.wait(self._answer, self._end)
