"""DSPy callbacks for all that watches from outside, at little cost.

DSPy takes up to 0.1 ms to announce that a module or an adapter begins and ends, and an LM call of a program has ten
such events around it. So `only_lm_calls` leaves out those that nobody needs.
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback

__all__ = ["Watcher", "only_lm_calls", "watching"]


class Watcher(BaseCallback):
    """Sees the calls of LMs and retrievers, and of modules unless they are made in `only_lm_calls`."""

    def on_unparsable(self) -> None:
        """A predictor that was called in `only_lm_calls` could not parse its reply."""


@contextmanager
def watching(watcher: Watcher, **settings: Any) -> Iterator[None]:
    """Tell the watcher of the calls of LMs and modules, retrievers included, that begin and end in the block.

    Holds for calls in threads that carry the context along, as `programs.steps.side_by_side.side_by_side` does. The
    watchers of blocks that are nested are told in turn, the outermost first.

    Args:
        watcher: Who is told.
        settings: Further settings of DSPy for the block; to make them here costs nothing.
    """
    others = [callback for callback in dspy.settings.callbacks if not isinstance(callback, _All)]
    outer = [watcher for known in dspy.settings.callbacks if isinstance(known, _All) for watcher in known.watchers]
    with dspy.context(callbacks=[*others, _All([*outer, watcher])], **settings):
        yield


def only_lm_calls(predictor: dspy.Module) -> tuple[dict[str, Any], Sequence[Watcher]]:
    """DSPy settings with which a call of the predictor announces its LM calls to the watchers, and nothing else.

    Returns:
        The settings, and the watchers: whoever uses the settings tells them of an unparsable reply. Both are empty
        where the LM calls can be seen in no other way.
    """
    callbacks = dspy.settings.callbacks
    watching = next((callback for callback in callbacks if isinstance(callback, _All)), None)
    single = predictor.predict if type(predictor) is dspy.ChainOfThought else predictor
    lm = dspy.settings.lm
    if watching is None or not isinstance(single, dspy.Predict) or single.lm is not None or type(lm) is not dspy.LM:
        return {}, ()
    others = [callback for callback in callbacks if callback is not watching]
    return {"callbacks": others, "lm": watching.watched(lm)}, watching.watchers


class _All(Watcher):
    """One callback for all watchers, since DSPy looks each callback up anew at every event."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self.watchers = watchers
        self._watched: tuple[dspy.LM, dspy.LM] | None = None  # an LM, and how it is watched

    def watched(self, lm: dspy.LM) -> dspy.LM:
        """The LM, which itself announces its calls: it shares all with the original but its callbacks."""
        known = self._watched
        if known is None or known[0] is not lm:
            twin = copy.copy(lm)
            twin.callbacks = [*lm.callbacks, self]
            self._watched = known = (lm, twin)
        return known[1]

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
