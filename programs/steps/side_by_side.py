"""Threads for methods: calls that do not wait for each other, and `forward` awaited from asyncio."""

import contextvars
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import dspy

__all__ = ["run_in_thread", "side_by_side"]

T = TypeVar("T")


def side_by_side(*calls: Callable[[], Any], at_most: int | None = None) -> list[Any]:
    """Make the calls at the same time, one thread each, and return their results in the order of the arguments.

    Each call runs in a copy of the caller's context, so `dspy.context` settings, callbacks and usage tracking hold in
    it. Each call has a trace of its own, and these are appended to the caller's trace in argument order. So a compiled
    program does not depend on which call finishes first.

    While DSPy streams (`dspy.streamify`) the calls are made one after the other in the caller's thread, because DSPy
    can stream from no other thread.

    Args:
        calls: The calls.
        at_most: Number of calls that may run at the same time, at least 1; all by default. They begin in argument
            order.

    Raises:
        Exception: the first exception in argument order. It is raised when every call that had begun has ended; calls
            that had not begun are dropped.
    """
    if dspy.settings.send_stream is not None:
        return [call() for call in calls]
    traces: list[list[Any] | None] = [None if dspy.settings.trace is None else [] for _ in calls]
    pool = ThreadPoolExecutor(max_workers=at_most or max(len(calls), 1))
    try:
        futures = [
            pool.submit(contextvars.copy_context().run, _traced, call, trace)
            for call, trace in zip(calls, traces, strict=True)
        ]
        wait(futures, return_when=FIRST_EXCEPTION)
    finally:
        pool.shutdown(cancel_futures=True)
    for trace in traces:
        if trace is not None:
            dspy.settings.trace.extend(trace)
    return [future.result() for future in futures]


async def run_in_thread(call: Callable[..., T], *args: Any) -> T:
    """Await `call(*args)`, run in a thread of its own with the caller's context.

    The thread is AnyIO's, because DSPy streams from no other kind. Its limiter is its own, because the shared pools are
    so small on small machines that awaited questions queue up.
    """
    return await anyio.to_thread.run_sync(call, *args, limiter=anyio.CapacityLimiter(1))


def _traced(call: Callable[[], Any], trace: list[Any] | None) -> Any:
    with dspy.context(trace=trace):
        return call()
