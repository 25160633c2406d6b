"""What an index on disk is, with the sizes and checksums of its files: the description that stands in its directory."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from odqa.errors import UsageError
from odqa.files import damage, json_page, read_json, read_whole, replaced_directory, undamaged

__all__ = ["read_description", "verify", "write_description"]

_OWN = "sha256 of the rest"  # of the description itself
_BLOCK = 1 << 20


def write_description(directory: Path, name: str, description: dict[str, Any]) -> None:
    """Write what the index in `directory` is, with the sizes and checksums of its files, to the file `name`."""
    files = sorted(directory.iterdir())
    sizes = {file.name: file.stat().st_size for file in files}
    whole = description | {"files": sizes, "sha256": {file.name: _digest(file) for file in files}}
    (directory / name).write_bytes(json_page(whole | {_OWN: _own_digest(whole)}))


def read_description(directory: Path, name: str, kind: str, version: int) -> dict[str, Any]:
    """Read what `write_description` wrote, and check the sizes of the files.

    Args:
        kind: What errors call the index, such as "BM25".
        version: The format that the caller can read; the description has it under "format".

    Raises:
        UsageError: there is no finished index of that kind, or one of another format.
        RetrievalError: the index is damaged.
    """
    if not directory.is_dir():
        if (old := replaced_directory(directory)).is_dir():
            raise UsageError(
                f"a process was killed when it replaced {directory}: the index from before is {old}, rename it"
            )
        raise UsageError(f"there is no {kind} index in {directory}: build one with `odqa index`")
    if not (directory / name).exists():
        raise UsageError(f"{directory} is no {kind} index, or its build was not finished: build it again")
    description = read_json(directory / name)
    with undamaged(directory / name):
        found, sizes = description["format"], dict(description["files"])
    if found != version:
        raise UsageError(f"{directory} has index format {found}, this version reads {version}: build the index again")
    # A pipe or a device may never end.
    if odd := [file for file in sorted(directory.iterdir()) if not (file.is_file() or file.is_dir())]:
        raise damage(odd[0], "it is no regular file")
    for file, size in sizes.items():
        found = (directory / file).stat().st_size if (directory / file).is_file() else 0
        if found != size:
            raise damage(directory / file, f"{found} bytes instead of {size}")
    return description


def verify(directory: Path, progress: Callable[[int], object] = lambda count: None) -> int:
    """Read all files of an index and compare them with the checksums from when it was built.

    Opening an index checks what is quickly checked: sizes, shapes, and what a search comes by. A wrong bit in a vector
    or a passage is seen only so.

    Args:
        directory: The directory of the index.
        progress: Called with the number of bytes read since the last call.

    Returns:
        How many bytes were read.

    Raises:
        UsageError: there is no index of a kind that has checksums, or it was built before there were any.
        RetrievalError: it is damaged.
    """
    names = [file for file in sorted(directory.glob("*.json")) if _described(file)]
    if not names:
        raise UsageError(f"there is no index in {directory} whose files could be checked")
    description = _described(names[0])
    if "sha256" not in description:
        raise UsageError(f"the index in {directory} carries no checksums: it was built before there were any")
    if description.pop(_OWN, None) != _own_digest(description):
        raise damage(names[0])
    progress(names[0].stat().st_size)
    read = 0
    for name, digest in description["sha256"].items():
        file = directory / name
        if not file.is_file() or _digest(file, progress) != digest:
            raise damage(file)
        read += file.stat().st_size
    return read


def _described(file: Path) -> dict[str, Any]:
    """What the file says of an index; nothing where it is no description of one."""
    try:
        found = json.loads(read_whole(file))
    except (OSError, ValueError, RecursionError):
        found = None
    if not (isinstance(found, dict) and "format" in found):
        return {}
    return found if all(isinstance(found.get(name, {}), dict) for name in ("files", "sha256")) else {}


def _digest(file: Path, progress: Callable[[int], object] = lambda count: None) -> str:
    digest = sha256()
    with file.open("rb") as content:
        while block := content.read(_BLOCK):
            digest.update(block)
            progress(len(block))
    return digest.hexdigest()


def _own_digest(description: dict[str, Any]) -> str:
    return sha256(json_page(description)).hexdigest()
