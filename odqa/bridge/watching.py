"""Who watches the calls of LMs, modules and retrievers, and how an unparsable reply is told from other errors."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import AdapterParseError

from odqa.bridge.calls import WATCHERS, Watcher, watchers
from odqa.bridge.engine import bound, is_bound

__all__ = ["is_unparsable", "modules_alone", "watching"]


@contextmanager
def watching(watcher: Watcher, *, first: bool = False, **settings: Any) -> Iterator[None]:
    """Tell the watcher of the calls of LMs and modules, retrievers included, that begin and end in the block.

    Holds for calls in threads that carry the context or DSPy's settings along. The watchers of blocks that are nested
    are told in turn: the outermost first of what starts, the innermost first of LM calls that end.

    Args:
        watcher: Who is told.
        first: Tell it before those of the blocks around: what it keeps from being made, they do not hear of.
        settings: Further settings of DSPy for the block; to make them here costs nothing.
    """
    told = (watcher, *watchers()) if first else (*watchers(), watcher)
    lm = bound(settings.pop("lm", dspy.settings.lm))
    with dspy.context(lm=lm, callbacks=[*_others(), _Modules(told)], **{WATCHERS: told}, **settings):
        yield


def modules_alone(*, tolerant: bool) -> dict[str, Any]:
    """Settings of DSPy under which modules, adapters and retrievers are not announced to watchers; LM calls still are.

    DSPy takes up to 0.1 ms for each such event, and the LM call of a method has ten of them around it.

    Args:
        tolerant: Whether the adapter raises `AdapterParseError` alone for what it cannot read; see `is_unparsable`.
    """
    return {"callbacks": _others() if tolerant else [*_others(), _PARSING]}


def is_unparsable(error: BaseException | None) -> bool:
    """Whether the error says that a reply cannot be parsed: whatever an adapter raises while it reads one.

    DSPy's own adapters raise more than AdapterParseError: ValueError, RecursionError and MemoryError come from the
    parsers of JSON and Python behind them, as for brackets that open without end.
    """
    return isinstance(error, AdapterParseError) or getattr(error, "odqa_unparsable", False)


def _others() -> list[Any]:
    """The callbacks of DSPy's settings that are not ours."""
    return [callback for callback in dspy.settings.callbacks if not isinstance(callback, _Modules)]


class _Parsing(BaseCallback):
    """Marks what adapters raise while they read a reply."""

    def on_adapter_parse_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        if isinstance(exception, Exception):
            exception.odqa_unparsable = True  # type: ignore[attr-defined]


_PARSING = _Parsing()


class _Modules(_Parsing):
    """Hands DSPy's events on to all watchers: one callback, since DSPy looks each one up anew at every event."""

    def __init__(self, told: Sequence[Watcher]) -> None:
        self._told = told

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if not is_bound(instance):
            for watcher in self._told:
                watcher.on_unbound(instance)

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        for watcher in self._told:
            watcher.on_module_start(call_id, instance, inputs)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        for watcher in self._told:
            watcher.on_module_end(call_id, outputs, exception)
