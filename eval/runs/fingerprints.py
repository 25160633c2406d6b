"""Hashes of the files that a retriever reads, so that runs over different corpora are not taken for the same."""

import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from odqa.files import read_whole
from odqa.secrets import public
from retrieval.corpora.reader import SAMPLE

__all__ = ["fingerprints"]

_CORPUS = "corpus.jsonl"  # in every index
_QDRANT = "qdrant:"
_END = 1 << 20  # bytes


def fingerprints(spec: str) -> dict[str, dict[str, str]]:
    """Hashes of the corpora, indexes and files that make the retriever.

    An index is hashed by its JSON files, which hold its settings and the size of each of its files. Its corpus may be
    large: it is hashed by its size and its first and last megabyte. A collection of Qdrant is hashed by what it says of
    itself, which changes with its passages. Other servers have nothing to hash.

    Args:
        spec: What `retrieval.load` opens.

    Returns:
        By path: `index` and `corpus` for the directory of an index, `corpus` for the sample, `file` for a TOML file,
        `index` for a collection.
    """
    if spec == "sample":
        return {"sample": {"corpus": _ends(SAMPLE)}}
    if spec.endswith(".toml"):
        return _of_file(Path(spec))
    if spec.startswith(_QDRANT):
        return _of_collection(spec)
    path = Path(spec.partition(":")[2])
    return _of_index(path) if ":" in spec and path.is_dir() else {}


def _of_file(path: Path) -> dict[str, dict[str, str]]:
    content = read_whole(path)
    found = {str(path): {"file": sha256(content).hexdigest()}}
    for text in _strings(tomllib.loads(content.decode())):
        name = path.parent / (text.partition(":")[2] or text)
        if text.endswith(".toml"):
            found |= _of_file(path.parent / text)
        elif text.startswith(_QDRANT):
            found |= _of_collection(text if "://" in text else f"{_QDRANT}{name}")
        elif "://" not in text and name.is_dir():
            found |= _of_index(name)
    return found


def _of_collection(spec: str) -> dict[str, dict[str, str]]:
    from retrieval.qdrant.address import Address, api_key
    from retrieval.qdrant.connection import Connection
    from retrieval.qdrant.description import fingerprint

    address = Address.parse(spec.removeprefix(_QDRANT))
    connection = Connection(address.location, address.collection, api_key=api_key())
    return {public(spec): {"index": fingerprint(connection)}}


def _of_index(path: Path) -> dict[str, dict[str, str]]:
    about = sha256()
    for file in sorted(path.glob("*.json")):
        about.update(file.name.encode() + b"\0" + file.read_bytes())
    corpus = {"corpus": _ends(path / _CORPUS)} if (path / _CORPUS).is_file() else {}
    return {str(path): {"index": about.hexdigest(), **corpus}}


def _strings(value: Any) -> Iterator[str]:
    """All texts in a composition that may name a file or a directory."""
    match value:
        case str():
            yield value
        case dict():
            yield from _strings([item for key, item in value.items() if key != "type"])
        case list():
            for item in value:
                yield from _strings(item)


def _ends(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        first = file.read(_END)
        file.seek(max(size - _END, 0))
        return sha256(f"{size}\n".encode() + first + file.read()).hexdigest()
