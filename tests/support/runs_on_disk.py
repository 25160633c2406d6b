"""Runs on disk, made without asking anything."""

from pathlib import Path
from typing import Any

from support.records import a_manifest, a_row

from eval.figures.summary import summarise
from eval.runs.store import Store

__all__ = ["add_rows", "begin_run", "end_run", "make_run"]


def begin_run(directory: Path, asked: int, **manifest: Any) -> Store:
    """A run that has no rows yet."""
    said = {"task": "quiz", "program": "reader", "lm": "made/up", "metrics": ["em"], "questions": "hash", **manifest}
    entries = {key: value for key, value in a_manifest(**said).entries().items() if key not in Store.OWN}
    directory.mkdir(parents=True)
    return Store(directory, entries, asked=asked, self_tests={}, resumable=True)


def add_rows(store: Store, *scores: float) -> None:
    """A row for each score."""
    for score in scores:
        store.add(a_row(f"q{len(store.rows)}", scores={"em": score}))


def end_run(store: Store, *scores: float) -> None:
    """The last rows, and the summary."""
    add_rows(store, *scores)
    store.conclude(summarise(store.rows, store.manifest.asked, store.manifest))


def make_run(directory: Path, *scores: float, **manifest: Any) -> None:
    """A run that has ended."""
    end_run(begin_run(directory, len(scores), **manifest), *scores)
