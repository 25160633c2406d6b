"""What a program searched for and what was found, seen from outside by a DSPy callback."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from odqa.bridge import Watcher, watching
from retrieval import Passage, Retriever

__all__ = ["Search", "observed"]


@dataclass(slots=True)
class Search:
    """One query sent to a retriever."""

    query: str
    found: list[Passage] | None = None
    """None where the search failed or did not end."""


@contextmanager
def observed() -> Iterator[list[Search]]:
    """Keep the searches made inside the block, in the order in which they begin.

    Holds for searches in threads that carry the context along, as `programs.steps.side_by_side.side_by_side` does.
    """
    observer = _Observer()
    with watching(observer):
        yield observer.searches


class _Observer(Watcher):
    """Many threads add to its list; they only use `append`, which is safe."""

    def __init__(self) -> None:
        self.searches: list[Search] = []
        self._running: dict[str, Search] = {}

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if isinstance(instance, Retriever):
            self._running[call_id] = search = Search(inputs["query"])
            self.searches.append(search)

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        search = self._running.pop(call_id, None)
        if search is not None:
            search.found = outputs
