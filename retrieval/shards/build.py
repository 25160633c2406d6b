"""Splitting an index into shards.

DIR/shards.json     format, kind of index, passages of each shard; written last
    0, 1, …         the shards: neighbouring passages, in the order of the whole
"""

from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from odqa.errors import UsageError
from odqa.files import damage, json_page, read_json, resolved, undamaged
from retrieval.descriptions import verify
from retrieval.indexes import Progress, built_at_once, check_target

__all__ = ["AGAIN", "DESCRIPTION", "ShardOnDisk", "shards_in", "split", "verify_shard"]

DESCRIPTION = "shards.json"
FORMAT = 1
AGAIN = "split the index again"
_KINDS = "bm25", "dense", "colbert"  # each has a module `split`, imported when it is needed


def split(
    index: Any,
    out: str | Path,
    shards: int,
    *,
    overwrite: bool = False,
    progress: Progress = lambda parts, desc: parts,
) -> list[Path]:
    """Split an index into shards of about the same number of passages. The index stays as it is.

    The shards appear in `out` when all are whole.

    Args:
        index: A `retrieval.bm25.BM25`, `retrieval.dense.Dense` or `retrieval.colbert.ColBERT`.
        out: Directory to make, with its parents.
        shards: How many.
        overwrite: Replace shards that are already in `out`.
        progress: Called as ``tqdm(parts, desc="splitting")``, before that of BM25 with "counting", to go through parts.

    Returns:
        Their directories.

    Raises:
        UsageError: the index is of another kind, there are to be more shards than passages or none, or `out` exists.
    """
    kind = type(index).__name__.lower()
    if kind not in _KINDS:
        raise UsageError(f"only an index of bm25, dense or colbert has shards, not {type(index).__name__}")
    if not 1 <= shards <= len(index):
        raise UsageError(f"an index of {len(index)} passages has from 1 to {len(index)} shards, not {shards}")
    out = resolved(out)
    check_target(out, DESCRIPTION, "sharded", overwrite)
    ends = [len(index) * number // shards for number in range(shards + 1)]
    parts = [range(begin, end) for begin, end in pairwise(ends)]
    with built_at_once(out) as work:
        directories = [work / str(number) for number in range(shards)]
        for directory in directories:
            directory.mkdir()
        import_module(f"retrieval.{kind}.split").split(index, parts, directories, progress)
        about: dict[str, Any] = {"format": FORMAT, "kind": kind, "passages": [len(part) for part in parts]}
        about["sha256"] = [_digest(directory) for directory in directories]
        (work / DESCRIPTION).write_bytes(json_page(about))
    return [out / directory.name for directory in directories]


class ShardOnDisk(NamedTuple):
    """What the description says of a shard."""

    kind: str
    directory: Path
    passages: int
    digest: str


def shards_in(path: str | Path) -> list[ShardOnDisk]:
    """The shards in a directory, in order.

    Raises:
        UsageError: there are none, or they are of another version's form.
        RetrievalError: the description is damaged.
    """
    description = Path(path) / DESCRIPTION
    if not description.exists():
        raise UsageError(f"there are no shards in {path}: make some with `odqa shard`")
    about = read_json(description, AGAIN)
    with undamaged(description, AGAIN):
        if about["format"] != FORMAT:
            raise UsageError(f"the shards in {path} are of format {about['format']}, this version reads {FORMAT}")
        return [
            ShardOnDisk(str(about["kind"]), Path(path) / str(number), int(passages), str(digest))
            for number, (passages, digest) in enumerate(zip(about["passages"], about["sha256"], strict=True))
        ]


def verify_shard(shard: ShardOnDisk, progress: Callable[[int], object] = lambda count: None) -> int:
    """Verify a shard as `retrieval.descriptions.verify` does an index, and that it is of this split.

    Raises:
        RetrievalError: it is damaged, or of another index.
    """
    read = verify(shard.directory, progress)
    if _digest(shard.directory) != shard.digest:
        raise damage(shard.directory, "it is a shard of another index, or of another split", AGAIN)
    return read


def _digest(directory: Path) -> str:
    """A digest of what a shard says of itself, so that the descriptions of different sharded indexes differ."""
    about = b"".join(file.read_bytes() for file in sorted(directory.glob("*.json")))
    return sha256(about).hexdigest()
