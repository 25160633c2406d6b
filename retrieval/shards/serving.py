"""Shards on a Ray cluster: Ray Serve keeps processes for each, starts them again when they die and shares out the work.

The front, which merges, is a retriever like any other: `retrieval.remote.server` serves it.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

from odqa.cluster import connected
from odqa.errors import OdqaError, RetrievalError, ShardError, UsageError
from odqa.http import one_line
from retrieval.base import Retriever
from retrieval.shards.build import shards_in
from retrieval.shards.search import STAGED, Sharded
from retrieval.specs import load

__all__ = ["deployed"]

_APPLICATION = "dspy-odqa-{}-{}"  # of a server, shard
_IN_TIME = 0.8  # of the time in which the client gets a reply: left to a shard, for the error to name it


@contextmanager
def deployed(spec: str, *, address: str | None, replicas: int = 1, timeout: float = 10.0) -> Iterator[Retriever]:
    """Deploy the shards of an index for as long as the block runs, and give a retriever that asks them.

    Args:
        spec: `shards:DIR`, with a directory that each machine of the cluster has; or another retriever, which is one
            shard.
        address: The cluster; see `odqa.cluster.connected`.
        replicas: Processes for each shard, each with a CPU.
        timeout: Seconds in which a search has to be answered.

    Raises:
        UsageError: the extra is not installed, there is no such cluster, it is too small, or a shard cannot be opened.
        ShardError: (in searches) a shard does not answer.
        RetrievalError: (in searches) the index of a shard is damaged.
    """
    if replicas < 1:
        raise UsageError(f"each shard needs at least 1 process, not {replicas}")
    shards, staged = _shards_of(spec)
    needed = len(shards) * replicas
    with connected(address, cpus=needed) as ray:
        from ray import serve

        there = int(ray.cluster_resources().get("CPU", 0))
        if there < needed:
            raise UsageError(
                f"the Ray cluster has {there} CPUs, and {len(shards)} shards with {replicas} processes need more"
            )
        server = uuid4().hex[:8]  # several servers may be in one cluster
        names = [_APPLICATION.format(server, number) for number in range(len(shards))]
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        serve.start(proxy_location="Disabled", logging_config={"log_level": "ERROR"})
        try:
            deployment = serve.deployment(
                _Shard,
                num_replicas=replicas,
                ray_actor_options={"num_cpus": 1},
                logging_config={"log_level": "ERROR", "enable_access_log": False},  # one line for each search
            )
            targets = [
                serve.RunTarget(deployment.bind(shard), name, route_prefix=None)
                for name, shard in zip(names, shards, strict=True)
            ]
            try:
                handles = serve.run_many(targets)
            except RuntimeError as error:
                raise UsageError(f"{spec} cannot be opened in the Ray cluster: {one_line(error)}") from error
            asked = [
                _Asked(ray, handle, number, shard)
                for number, (handle, shard) in enumerate(zip(handles, shards, strict=True))
            ]
            yield _Front(asked, staged=staged, timeout=_IN_TIME * timeout)
        finally:
            for name in names:
                serve.delete(name, _blocking=False)  # else it waits for ever where the cluster has just been ended


def _shards_of(spec: str) -> tuple[list[str], bool]:
    """The specs of the shards, and whether a search of them has stages."""
    scheme, _, path = spec.partition(":")
    if scheme == "shards":
        shards = shards_in(path)
        return [f"{shard.kind}:{shard.directory.resolve()}" for shard in shards], shards[0].kind in STAGED
    if load(spec).asks_lm:
        raise UsageError(f"{spec} asks an LM, which processes of a Ray cluster are not told: serve it without --ray")
    return [spec], False


class _Front(Sharded):
    """Says for `/health` whether all shards answer; of shards in this process, which may be busy, none is asked."""

    def check(self) -> None:
        self._ask("check", [()] * len(self._shards), self._end())


class _Shard:
    """What runs in a process of the cluster: one shard, opened."""

    def __init__(self, spec: str) -> None:
        self._retriever = load(spec)

    def __call__(self, method: str, *args: Any) -> Any:
        try:
            return getattr(self._retriever, method)(*args)
        except OdqaError as error:
            return error


class _Asked:
    """A shard as the front sees it; see `retrieval.shards.search.Shard`."""

    def __init__(self, ray: Any, handle: Any, number: int, spec: str) -> None:
        self._ray = ray
        self._handle = handle
        self._name = f"shard {number}"
        self._spec = spec

    def __call__(self, method: str, *args: Any) -> Callable[[float | None], Any]:
        return partial(self._wait, self._handle.remote(method, *args))

    def _wait(self, answer: Any, seconds: float | None) -> Any:
        try:
            found = answer.result(timeout_s=seconds)
        except TimeoutError as error:
            raise ShardError(f"{self._name} does not answer in time", self._spec) from error
        except self._ray.exceptions.RayTaskError:
            raise  # a fault of the program there: its traceback is wanted
        except self._ray.exceptions.RayError as error:
            raise ShardError(f"{self._name} is down", f"{self._spec}: {one_line(error)}") from error
        if isinstance(found, OdqaError):
            raise RetrievalError(f"{self._name} failed, {self._spec}: {found}") from found
        return found
