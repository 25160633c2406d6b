"""Encoding passages in many processes: a job of Ray Data, which hands out tasks and starts workers that died again.

Each task ends in files, which a worker writes whole or not at all. So what was killed is done again from the last file
on, and a build that is repeated does only the tasks whose files are not there.
"""

import logging
import pickle
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
    """Have workers do all tasks, in any order.

    Args:
        workers: How many, and where.
        worker: Their class. An object of it is called with a task, and leaves its result in files that this machine
            sees.
        arguments: What the class is called with; not large.
        tasks: What the workers are called with, such as a path and rows; not large.
        progress: Goes through the tasks as they are done.
        stage: Its description.

    Raises:
        UsageError: there is no such cluster, or the extra is not installed.
        OdqaError: a task failed; the first error of a worker.
    """
    if not tasks:
        return
    with connected(workers.address, cpus=workers.count) as ray:
        gpus = int(ray.cluster_resources().get("GPU", 0))
        count = min(workers_in(ray, workers.count or gpus or None), len(tasks))
        from ray import data  # which connecting does not import

        logging.getLogger("ray.data").setLevel(logging.WARNING)
        data.DataContext.get_current().enable_progress_bars = False
        done = data.from_items(
            [{"task": pickle.dumps(task)} for task in tasks], override_num_blocks=len(tasks)
        ).map_batches(
            _Called,
            fn_constructor_args=(worker, *arguments),
            batch_size=1,
            compute=data.ActorPoolStrategy(size=count),
            num_cpus=1,
            num_gpus=gpus_each(ray, count),
        )
        try:
            for result, _ in zip(done.iter_rows(), progress(range(len(tasks)), desc=stage), strict=True):
                if result["error"]:
                    raise pickle.loads(result["error"])  # noqa: S301  # from a worker of ours
        except ray.exceptions.RayError as error:
            raise OdqaError(f"a worker failed: {one_line(error)}") from error


class _Called:
    """What Ray Data calls: a worker, with batches of one task. Errors of ours are results, which Ray lets be."""

    def __init__(self, worker: type, *arguments: Any) -> None:
        self._worker: Any = None
        self._failed = b""
        try:
            self._worker = worker(*arguments)
        except OdqaError as error:
            self._failed = pickle.dumps(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"error": [self._do(task) for task in batch["task"]]}

    def _do(self, task: bytes) -> bytes:
        """Do the task; gives the error, pickled, or nothing."""
        if self._failed:
            return self._failed
        try:
            self._worker(pickle.loads(task))  # noqa: S301  # from the process that started this one
        except OdqaError as error:
            return pickle.dumps(error)
        return b""
