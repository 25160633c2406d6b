"""The boundary: an engine in front of an LM's own, at which every call is seen, bounded and repeated.

A call passes, in this order: the watchers of `odqa.bridge.calls` (who count, record, answer from a record, or hold it
back), DSPy's cache, and the tries at the LM's own engine, which have one end together.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import dspy
from dspy.lm15 import (
    Request,
    Response,
    materialize_response,
    response_to_events,
)
from dspy.lm15 import TimeoutError as LateError
from dspy.utils.callback import BaseCallback
from dspy.utils.dummies import DummyLM

from odqa.bridge.calls import Call, Watcher, completed, heard, readable, recordable, watchers
from odqa.bridge.own import CLIENT_KEYS, Own, own_engine
from odqa.bridge.tries import in_a_thread, pause, wait, whole
from odqa.deadlines import remaining, until

__all__ = ["TOTAL", "Boundary", "bound", "is_bound", "unbound", "within"]

T = TypeVar("T")

TOTAL = 600.0
"""Seconds that an LM call may take, with all its tries, where its LM's `total_seconds` does not say otherwise."""
_ENDS = "odqa_ends"  # a setting of DSPy's
_KNOWN = "odqa_known"  # an attribute of LMs
_BODY = "extra_body"  # an argument that goes into the body of requests as it is: extensions of a request, to lm15
_asked: ContextVar[tuple[Any, bool | None]] = ContextVar("odqa_asked", default=(None, None))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """The LM calls in the block have to end within so many seconds of now, whatever their own total time is."""
    ends = time.monotonic() + seconds
    outer = dspy.settings.get(_ENDS)
    with dspy.context(**{_ENDS: ends if outer is None else min(ends, outer)}):
        yield


def bound(lm: Any) -> Any:
    """The LM with the boundary in front of its engine: it is asked, answers and keeps its history as before.

    Args:
        lm: A `dspy.LM`. None, an LM that has the boundary, and one that has no engine are returned as they are: a class
            with a `forward()` of its own, which DSPy 3.4 deprecates and 3.5 does not call.
    """
    if is_bound(lm) or not isinstance(lm, dspy.LM):
        return lm
    if not isinstance(lm, DummyLM) and type(lm).forward is not dspy.LM.forward:
        return lm
    state = (dict(lm.kwargs), lm.engine, lm.cache, lm.num_retries, lm.model)
    known: _Known | None = vars(lm).get(_KNOWN)
    if known is None or known.front is None or unbound(known.front) is not lm or known.state != state:
        known = _Known(state, _in_front_of(lm))
        setattr(lm, _KNOWN, known)
    return known.front


class _Known:
    """The front of an LM, which the LM keeps as long as it lives. Deep copies and pickles of it make their own."""

    def __init__(self, state: Any = None, front: dspy.LM | None = None) -> None:
        self.state, self.front = state, front

    def __reduce__(self) -> Any:
        return _Known, ()


def unbound(lm: Any) -> Any:
    """The LM as the user made it, with all that it was given."""
    return lm.engine.own.lm if is_bound(lm) else lm


def is_bound(lm: Any) -> bool:
    """Whether the LM has the boundary in front of its engine."""
    return isinstance(getattr(lm, "engine", None), Boundary)


def _in_front_of(lm: dspy.LM) -> dspy.LM:
    own = own_engine(lm)
    has_async = isinstance(lm.engine, str) or getattr(lm, "_async_engine_spec", None) is not None
    clients = dict.fromkeys(name for name in lm.kwargs if name in CLIENT_KEYS or name == _BODY)
    made = lm.copy(
        engine=Boundary(own),
        async_engine=AsyncBoundary(own) if has_async else None,
        cache=False,
        num_retries=0,
        **clients,
    )
    made.history, made.callbacks = lm.history, [*lm.callbacks, _Asked()]
    return made


class _Asked(BaseCallback):
    """Keeps what DSPy gives an LM and not its engine: the rollout id, and whether its cache may answer."""

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        given = inputs.get("kwargs") or {}
        _asked.set((given.get("rollout_id", instance.kwargs.get("rollout_id")), given.get("cache")))


class _Front:
    """What the synchronous and the asynchronous boundary have in common. Copies and deep copies share it, so that they
    share its connections; a pickle has the LM only."""

    def __init__(self, own: Own) -> None:
        self.own = own

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce__(self) -> Any:
        return _again, (type(self), self.own.lm)

    def __getattr__(self, name: str) -> Any:
        """What the LM's own engine supports; found out once, since DSPy looks through its list of models each time."""
        if name != "supported_params" and not name.startswith("supports_"):
            raise AttributeError(name)
        known = getattr(self.own.capabilities, name)
        setattr(self, name, known)
        return known

    def dump_state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.own.lm.dump_state()
        return state

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Any:
        return cls(own_engine(dspy.BaseLM.load_state(state)))

    def _call(self, request: Request) -> Call:
        rollout, cache = _asked.get()
        lm = self.own.lm
        if further := lm.kwargs.get(_BODY):
            extensions = {**(request.config.extensions or {}), **further}
            request = replace(request, config=replace(request.config, extensions=extensions))
        modules = dspy.settings.caller_modules or ()
        return Call(self.own.server, request, rollout, lm.cache if cache is None else cache, modules)

    def _ends(self, told: tuple[Watcher, ...]) -> float:
        total = getattr(self.own.lm, "total_seconds", TOTAL)
        ends = [time.monotonic() + total, dspy.settings.get(_ENDS), *(watcher.ends for watcher in told)]
        return float(min(end for end in ends if end is not None))

    def _late(self, ends: float, error: BaseException) -> LateError | None:
        """What to raise in place of the error, where the call's time is over."""
        if time.monotonic() < ends:
            return None
        total = getattr(self.own.lm, "total_seconds", TOTAL)
        return LateError(f"no whole reply by the end of the call's time, which is at most {total:g} s ({error})")


class Boundary(_Front):
    """The engine in front of an LM's own, for synchronous calls."""

    def complete(self, request: Request) -> Response:
        call, told = self._call(request), watchers()
        with _seen(call, told):
            _start(call, told)
            if call.response is None and not _from_cache(call):
                call.paid(self._patiently(call, told))
                _to_cache(call)
        assert call.response is not None
        return call.response

    def stream(self, request: Request) -> Iterator[Any]:
        """The events of the reply. What has begun to arrive is not asked for again."""
        call, told = self._call(request), watchers()
        with _seen(call, told):
            _start(call, told)
            if call.response is not None or _from_cache(call):
                yield from response_to_events(call.response)
                return
            events = []
            with until(self._ends(told)):
                for event in self.own.sync().stream(call.request):
                    events.append(event)
                    yield event
            call.paid(whole(materialize_response(iter(events), request)))
            _to_cache(call)

    def close(self) -> None:
        """Does nothing: the connections belong to the LM, and are closed when it is no longer used."""

    def _patiently(self, call: Call, told: tuple[Watcher, ...]) -> Response:
        ends = self._ends(told)
        for attempt in range(self.own.lm.num_retries + 1):
            try:
                with until(ends):
                    return whole(self._once(call, ends))
            except Exception as error:
                if late := self._late(ends, error):
                    raise late from error
                seconds = wait(error, attempt, self.own.lm.num_retries, ends)
            pause(seconds, told)
        raise AssertionError("the last try returns or raises")

    def _once(self, call: Call, ends: float) -> Response:
        engine = self.own.sync()
        complete = partial(heard if call.hear and hasattr(engine, "stream") else completed, engine, call)
        return in_a_thread(complete, ends) if self.own.is_remote else complete()


class AsyncBoundary(_Front):
    """The same for asynchronous calls."""

    async def complete(self, request: Request) -> Response:
        call, told = self._call(request), watchers()
        with _seen(call, told):
            await _astart(call, told)
            if call.response is None and not await asyncio.to_thread(_from_cache, call):
                call.paid(await self._patiently(call, told))
                await asyncio.to_thread(_to_cache, call)
        assert call.response is not None
        return call.response

    async def stream(self, request: Request) -> AsyncIterator[Any]:
        """The events of the reply. What has begun to arrive is not asked for again."""
        call, told = self._call(request), watchers()
        with _seen(call, told):
            await _astart(call, told)
            if call.response is not None or await asyncio.to_thread(_from_cache, call):
                for event in response_to_events(call.response):
                    yield event
                return
            events = []
            async with asyncio.timeout(remaining(self._ends(told))):
                async for event in self.own.asynchronous().stream(call.request):
                    events.append(event)
                    yield event
            call.paid(whole(materialize_response(iter(events), request)))
            await asyncio.to_thread(_to_cache, call)

    async def aclose(self) -> None:
        """Does nothing, as for synchronous calls."""

    async def _patiently(self, call: Call, told: tuple[Watcher, ...]) -> Response:
        ends = self._ends(told)
        for attempt in range(self.own.lm.num_retries + 1):
            try:
                async with asyncio.timeout(remaining(ends)):
                    return whole(await self.own.asynchronous().complete(call.request))
            except Exception as error:
                if late := self._late(ends, error):
                    raise late from error
                seconds = wait(error, attempt, self.own.lm.num_retries, ends)
            await asyncio.sleep(seconds)
        raise AssertionError("the last try returns or raises")


def _again(kind: type[_Front], lm: dspy.LM) -> _Front:
    return kind(own_engine(lm))


@contextmanager
def _seen(call: Call, told: tuple[Watcher, ...]) -> Iterator[None]:
    """Tell the watchers that heard of the call how it ended, the last one first."""
    try:
        yield
    except BaseException as error:
        call.error = error
        raise
    finally:
        for watcher in reversed(told[: call.heard]):
            watcher.on_call_end(call)


def _start(call: Call, told: tuple[Watcher, ...]) -> None:
    for watcher in told:
        watcher.on_call_start(call)
        call.heard += 1


async def _astart(call: Call, told: tuple[Watcher, ...]) -> None:
    for watcher in told:
        if watcher.waits:
            await asyncio.to_thread(watcher.on_call_start, call)
        else:
            watcher.on_call_start(call)
        call.heard += 1


def _from_cache(call: Call) -> bool:
    """Whether DSPy's cache had the reply, which the call now has."""
    if not call.cache:
        return False
    known = dspy.cache.get(_cached_as(call))
    if not isinstance(known, dict):
        return False
    call.answer(readable(known["reply"]), known["usd"], cached=True)
    return True


def _to_cache(call: Call) -> None:
    if call.cache and call.response is not None:
        dspy.cache.put(_cached_as(call), {"reply": recordable(call.response), "usd": call.usd})


def _cached_as(call: Call) -> dict[str, Any]:
    return {"_fn_identifier": "odqa", "key": call.key(), "run": call.run}
