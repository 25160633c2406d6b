"""Encoding passages in many processes: actors of Ray, which are started again where they died.

Each task ends in files, which a worker writes whole or not at all. So what was killed is done again from the last file
on, and a build that is repeated does only the tasks whose files are not there.
"""

from collections.abc import Sequence
from typing import Any

from odqa.cluster import Workers, connected, gpus_each, workers_in
from odqa.errors import OdqaError
from odqa.http import one_line
from retrieval.indexes import Progress

__all__ = ["do_tasks"]


def do_tasks(
    workers: Workers, worker: type, arguments: Sequence[Any], tasks: Sequence[Any], *, progress: Progress, stage: str
) -> None:
    """Have workers do all tasks, in any order. `progress` goes through the tasks as they are done.

    Args:
        worker: The class of the workers. An object of it is called with a task, and leaves its result in files that
            this machine sees.
        arguments: What the class is called with; not large, and neither is a task.

    Raises:
        UsageError: there is no such cluster, or the extra is not installed.
        OdqaError: a task failed; the first error of a worker.
    """
    if not tasks:
        return
    with connected(workers.address, cpus=workers.count) as ray:
        gpus = int(ray.cluster_resources().get("GPU", 0))
        count = min(workers_in(ray, workers.count or gpus or None), len(tasks))
        share = gpus_each(ray, count)
        make = ray.remote(num_cpus=1, num_gpus=share, max_restarts=-1, max_task_retries=-1)(_Worker).remote
        actors = [make(worker, arguments) for _ in range(count)]
        done = ray.util.ActorPool(actors).map_unordered(lambda actor, task: actor.do.remote(task), tasks)
        try:
            for failed, _ in zip(done, progress(range(len(tasks)), desc=stage), strict=True):
                if failed:
                    raise failed
        except ray.exceptions.RayError as error:
            raise OdqaError(f"a worker failed: {one_line(error)}") from error
        finally:
            for actor in actors:
                ray.kill(actor)


class _Worker:
    """What runs in another process: a worker, made for its first task."""

    def __init__(self, worker: type, arguments: Sequence[Any]) -> None:
        self._kind, self._arguments = worker, arguments
        self._worker: Any = None

    def do(self, task: Any) -> OdqaError | None:
        """Do the task; gives the error, if there is one of ours."""
        try:
            self._worker = self._worker or self._kind(*self._arguments)
            self._worker(task)
        except OdqaError as error:
            return error
        return None
