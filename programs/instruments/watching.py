"""One DSPy callback for all that watches from outside: DSPy looks each callback up anew at every event, which on some
versions of Python takes as long as a tenth of an LM call."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

__all__ = ["watching"]


@contextmanager
def watching(watcher: BaseCallback) -> Iterator[None]:
    """Tell the watcher of the calls of LMs and modules, retrievers included, that begin and end in the block.

    Holds for calls in threads that carry the context along, as `programs.steps.side_by_side.side_by_side` does. The
    watchers of blocks that are nested are told in turn, the outermost first.
    """
    others = [callback for callback in dspy.settings.callbacks if not isinstance(callback, _All)]
    outer = [watcher for known in dspy.settings.callbacks if isinstance(known, _All) for watcher in known.watchers]
    with dspy.context(callbacks=[*others, _All([*outer, watcher])]):
        yield


class _All(BaseCallback):
    def __init__(self, watchers: Sequence[BaseCallback]) -> None:
        self.watchers = watchers

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        for watcher in self.watchers:
            watcher.on_lm_start(call_id, instance, inputs)

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        for watcher in self.watchers:
            watcher.on_lm_end(call_id, outputs, exception)

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        for watcher in self.watchers:
            watcher.on_module_start(call_id, instance, inputs)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        for watcher in self.watchers:
            watcher.on_module_end(call_id, outputs, exception)
