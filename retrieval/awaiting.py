"""Waiting for asynchronous searches from code that is not asynchronous."""

import asyncio
import threading
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any

__all__ = ["callers_loop", "result_of"]

_callers: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("callers_loop", default=None)


@contextmanager
def callers_loop() -> Iterator[None]:
    """While a thread works for whoever awaits it here, `result_of` in that thread waits for what runs in this loop.

    A client of the caller's is bound to the loop that it was made in.
    """
    loop = None
    with suppress(RuntimeError):  # another library's loop
        loop = asyncio.get_running_loop()
    token = _callers.set(loop)
    try:
        yield
    finally:
        _callers.reset(token)


def result_of(awaitable: Awaitable[Any]) -> Any:
    """Wait for an awaitable: in the loop of whoever awaits this thread, else in one that a thread of its own runs."""
    loop = _callers.get()
    with suppress(RuntimeError):  # no loop runs in this thread
        if asyncio.get_running_loop() is loop:
            loop = None  # it cannot go on while this thread waits
    future = asyncio.run_coroutine_threadsafe(_awaited(awaitable), loop or _own_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


@cache
def _own_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="asynchronous searches", daemon=True).start()
    return loop
