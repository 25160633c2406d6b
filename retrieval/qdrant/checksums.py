"""Checksums of a collection in a directory: they tell whether a file has changed since the last build or change.

They stand in a file beside the collection's own, which is removed while a build or a change is under way. A server sees
to its own files.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from odqa.files import damage, read_json, undamaged
from retrieval.descriptions import verify, write_description

__all__ = ["has_checksums", "note_checksums", "remove_checksums", "verify_collection"]

_FILE = "dspy-odqa.json"
_META = "meta.json"  # of all collections: what a collection is, with our description of it


def note_checksums(directory: Path, collection: str) -> None:
    """Note the checksums of a collection that is whole, and which no one is changing."""
    write_description(_folder(directory, collection), _FILE, {"format": 1, "about": _about(directory, collection)})


def remove_checksums(directory: Path, collection: str) -> None:
    """Remove the checksums, where there are any, before the collection is changed."""
    (_folder(directory, collection) / _FILE).unlink(missing_ok=True)


def verify_collection(directory: Path, collection: str, progress: Callable[[int], object] = lambda count: None) -> int:
    """Read all files of a collection and compare them with its checksums; gives how many bytes were read.

    Raises:
        UsageError: there are no checksums: it was built before there were any, or a change of it was cut short.
        RetrievalError: it is damaged, or another program has changed it.
    """
    folder = _folder(directory, collection)
    read = verify(folder, progress)
    if read_json(folder / _FILE)["about"] != _about(directory, collection):
        raise damage(directory / _META)
    return read


def has_checksums(directory: Path, collection: str) -> bool:
    """Whether the collection has checksums."""
    return (_folder(directory, collection) / _FILE).is_file()


def _folder(directory: Path, collection: str) -> Path:
    return directory / "collection" / collection


def _about(directory: Path, collection: str) -> str:
    """A digest of what the directory says of the collection."""
    with undamaged(directory / _META):
        about: Any = _without_none(read_json(directory / _META)["collections"][collection])
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _without_none(value: Any) -> Any:
    """The value without what newer clients may write in addition when they change another collection."""
    if isinstance(value, dict):
        return {name: _without_none(item) for name, item in value.items() if item is not None}
    return value
