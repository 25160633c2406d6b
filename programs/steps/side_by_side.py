"""Threads for methods: calls that do not wait for each other, and `forward` awaited from asyncio."""

import contextvars
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import dspy

from odqa.bridge import is_streaming
from retrieval.awaiting import callers_loop

__all__ = ["chained", "run_in_thread", "side_by_side"]

T = TypeVar("T")

chained: contextvars.ContextVar[tuple[int, str]] = contextvars.ContextVar("chained", default=(0, ""))
"""How many LM calls were made one after the other up to here, and the id of the last one. `programs.instruments.cost`
counts them; here the longest way to the end of the calls side by side goes on."""

_IDLE = 10.0  # seconds for which a thread waits for its next call
_MOST = 64  # calls at the same time: settings can ask for ten thousand, and each has a thread


def side_by_side(*calls: Callable[[], Any], at_most: int | None = None) -> list[Any]:
    """Make the calls at the same time, and return their results in the order of the arguments.

    The caller's thread takes part, and each further call that is to be under way has a thread of its own. These threads
    wait a while for the next calls of any program, because starting a thread for each would cost more than the calls.

    Each call runs in a copy of the caller's context, so `dspy.context` settings, callbacks and usage tracking hold in
    it. Each call has a trace of its own, and these are appended to the caller's trace in argument order. So a compiled
    program does not depend on which call finishes first.

    While DSPy streams (`dspy.streamify`) the calls are made one after the other in the caller's thread, because DSPy
    can stream from no other thread.

    Args:
        calls: The calls.
        at_most: Number of calls that may run at the same time, at least 1; by default all, up to 64. They begin in
            argument order.

    Raises:
        Exception: the first exception in argument order; what is no `Exception`, such as a stop, goes before. It
            is raised when every call that had begun has ended; calls that had not begun are dropped.
        KeyboardInterrupt: at once; the calls that had begun are left behind.
    """
    if is_streaming():
        return [call() for call in calls]
    group = _Group(calls)
    try:
        for _ in range(min(at_most or _MOST, len(calls)) - 1):
            _start(group.help)
        group.work()
        group.wait()
    except BaseException as error:
        group.drop()
        if not isinstance(error, KeyboardInterrupt):  # who interrupts does not wait for what has begun
            group.wait()
        raise
    return group.results()


async def run_in_thread(call: Callable[..., T], *args: Any) -> T:
    """Await `call(*args)`, run in a thread of its own with the caller's context.

    The thread is AnyIO's, because DSPy streams from no other kind. Its limiter is its own, because the shared pools are
    so small on small machines that awaited questions queue up.
    """
    with callers_loop():
        return await anyio.to_thread.run_sync(call, *args, limiter=anyio.CapacityLimiter(1))


class _Group:
    """Calls that are made side by side: by `work` in the caller's thread, and by `help` in others."""

    def __init__(self, calls: tuple[Callable[[], Any], ...]) -> None:
        self._calls = [_Call(call) for call in calls]
        self._waiting = list(reversed(self._calls))
        self._helped = 0  # calls that others began and whose end the caller has not seen
        self._ended: SimpleQueue[None] = SimpleQueue()
        self._lock = threading.Lock()  # guards what waits and what is helped with

    def work(self) -> None:
        while call := self._next():
            if not call.make():
                self.drop()
            if isinstance(call.error, KeyboardInterrupt):
                raise call.error

    def help(self) -> None:
        while call := self._next(helped=1):
            if not call.make():
                self.drop()
            self._ended.put(None)

    def _next(self, helped: int = 0) -> "_Call | None":
        with self._lock:
            if not self._waiting:
                return None
            self._helped += helped
            return self._waiting.pop()

    def drop(self) -> None:
        """Begin no more calls."""
        with self._lock:
            self._waiting.clear()

    def wait(self) -> None:
        """Wait until all that was begun has ended; nothing may be waiting to begin."""
        while self._helped:
            self._ended.get()
            self._helped -= 1

    def results(self) -> list[Any]:
        for call in self._calls:
            if call.trace:
                dspy.settings.trace.extend(call.trace)
        chained.set(max([chained.get(), *(call.chained for call in self._calls)]))
        errors = [call.error for call in self._calls if call.error is not None]
        if errors:
            raise next((error for error in errors if not isinstance(error, Exception)), errors[0])
        return [call.result for call in self._calls]


class _Call:
    """One of them, and what came of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._context = contextvars.copy_context()
        self.trace: list[Any] | None = None if dspy.settings.trace is None else []
        self.result: Any = None
        self.error: BaseException | None = None

    @property
    def chained(self) -> tuple[int, str]:
        """The LM calls up to its end."""
        return self._context.get(chained, (0, ""))

    def make(self) -> bool:
        """Make the call; whether it succeeded."""
        try:
            self.result = self._context.run(self._traced)
        except BaseException as error:
            self.error = error
        return self.error is None

    def _traced(self) -> Any:
        if self.trace is None:
            return self._call()
        with dspy.context(trace=self.trace):
            return self._call()


_idle: list[SimpleQueue[Callable[[], object]]] = []  # where the threads that wait take their work from
if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_idle.clear)  # a child process has none of its parent's threads


def _start(work: Callable[[], object]) -> None:
    """Do the work in a thread that waits for some, or else in a new one."""
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_serve, args=(inbox,), daemon=True).start()
    inbox.put(work)


def _serve(inbox: SimpleQueue[Callable[[], object]]) -> None:
    while True:
        try:
            work = inbox.get(timeout=_IDLE)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:
                continue  # some work has just been found for this thread
            return
        work()
        del work  # and with it the context of the calls
        _idle.append(inbox)
