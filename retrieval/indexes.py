"""What the indexes on disk have in common.

DIR/NAME.json                 the description: what the index is, and the size of each file; written last
    corpus.jsonl              the passages, one JSON object per line
    corpus.jsonl.offsets.npy  where each line begins
    …                         what the index adds

An index that is not finished is in a directory beside DIR, and gets the name DIR when it is whole.
"""

import json
import mmap
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable
from uuid import uuid4

import numpy as np
from numpy.typing import DTypeLike, NDArray

from odqa.errors import UsageError
from odqa.files import damage, locked, replace_directory, resolved, undamaged
from retrieval.passage import Passage

__all__ = [
    "CORPUS",
    "Corpus",
    "DuplicateId",
    "LineWriter",
    "Lines",
    "OnDisk",
    "Progress",
    "UpdatableIndex",
    "building",
    "building_directory",
    "built_at_once",
    "check_target",
    "checked_passages",
    "kept_rows",
    "passage_line",
    "read_array",
    "refuse_missing",
    "stamp",
    "store_passages",
    "updating",
]

CORPUS = "corpus.jsonl"

Progress = Callable[..., Iterable[Any]]
"""Passes the parts of some work through and shows how it goes; called like `tqdm.tqdm`."""


class DuplicateId(UsageError):
    """Two passages have the same id."""

    def __init__(self, id: str) -> None:
        super().__init__(f"two passages have the id {id!r}: ids must differ")
        self.id = id


@runtime_checkable
class UpdatableIndex(Protocol):
    """An index whose passages can be added to and deleted from."""

    path: Path

    def __len__(self) -> int: ...

    def passage(self, row: int) -> Passage:
        """The passage in that row, counted from 0."""

    def update(self, *, add: Iterable[Passage] = (), delete: Iterable[str] = ()) -> "UpdatableIndex":
        """Replace the index on disk by one with passages deleted and others added behind the rest, and open it.

        The new index is there whole or not at all. What has the old one open goes on with it, this object too.

        Args:
            add: The passages to add; their ids must not be in the index, unless they are deleted.
            delete: The ids of the passages to delete.

        Raises:
            UsageError: an id is not in the index, a passage cannot be added, no passage would be left, or another
                process is changing the index.
        """


def checked_passages(passages: Iterable[Passage]) -> Iterator[Passage]:
    """The passages, each checked when its turn comes.

    Raises:
        UsageError: two passages have the same id, or one has no text.
    """
    ids: set[str] = set()
    for passage in passages:
        if passage.id in ids:
            raise DuplicateId(passage.id)
        if not passage.text.strip():
            raise UsageError(f"passage {passage.id!r} has no text")
        ids.add(passage.id)
        yield passage


def passage_line(passage: Passage) -> bytes:
    """The passage as a line of JSON, without its score.

    Raises:
        UsageError: the passage has characters that UTF-8 cannot hold (lone surrogates).
    """
    fields = {"id": passage.id, "title": passage.title, "text": passage.text}
    try:
        return json.dumps(fields, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError as error:
        raise UsageError(f"passage {passage.id!r} is not valid Unicode: {error.reason}") from error


class LineWriter:
    """Writes lines to a file, and to a second file where each line begins; `Lines` reads both."""

    def __init__(self, path: Path) -> None:
        self._path, self._file, self._offsets = path, path.open("wb"), array("q", [0])

    def write(self, line: bytes) -> None:
        self._offsets.append(self._offsets[-1] + self._file.write(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        np.save(_offsets(self._path), np.frombuffer(self._offsets, np.int64))


def store_passages(directory: Path, passages: Iterable[Passage]) -> str:
    """Write the corpus of an index, which `Corpus` reads, and give a digest of all passages.

    Raises:
        UsageError: a passage cannot be written, or there is none.
    """
    digest = sha256()
    with LineWriter(directory / CORPUS) as corpus:
        for passage in passages:
            line = passage_line(passage)
            corpus.write(line)
            digest.update(line)
    if not (directory / CORPUS).stat().st_size:
        raise UsageError("there is nothing to index: the corpus has no passages")
    return digest.hexdigest()


class Lines(Sequence[bytes]):
    """The lines that a `LineWriter` wrote, memory-mapped.

    Raises:
        RetrievalError: the files are damaged.
    """

    def __init__(self, path: Path) -> None:
        with undamaged(path), path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        offsets = read_array(_offsets(path), np.int64, (None,), mapped=True)
        if not len(offsets) or offsets[-1] != len(self._bytes):
            raise damage(_offsets(path), f"it is of other lines than those of {path.name}")
        self._offsets = np.asarray(offsets)  # mapped too; np.memmap is slow to index

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, n: int) -> bytes:  # type: ignore[override]  # nobody asks for slices
        return self._bytes[self._offsets[n] : self._offsets[n + 1]]


class Corpus:
    """The passages of an index, read from disk when they are asked for.

    Args:
        directory: The directory of the index.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / CORPUS
        self._lines = Lines(self._path)

    def __len__(self) -> int:
        return len(self._lines)

    def passage(self, row: int, score: float | None = None) -> Passage:
        """The passage in that row, counted from 0, with this score.

        Raises:
            RetrievalError: the line is damaged.
        """
        try:
            fields = json.loads(self._lines[row])
            if not all(isinstance(text, str) for text in fields.values()):
                raise TypeError("a passage is made of texts")
            return Passage(**fields, score=score)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise damage(self._path.with_name(f"{self._path.name}, line {row + 1}"), error) from error


class OnDisk:
    """What indexes with a corpus of their own have in common: their passages by row."""

    _corpus: Corpus

    def __len__(self) -> int:
        return len(self._corpus)

    def passage(self, row: int) -> Passage:
        """The passage in that row of the corpus, counted from 0."""
        return self._corpus.passage(row)


def read_array(
    path: Path, dtype: DTypeLike | None = None, shape: Sequence[int | None] | None = None, *, mapped: bool = False
) -> NDArray[Any]:
    """The array in a file that `numpy.save` wrote. Nothing in it is unpickled.

    Args:
        dtype: The type that its numbers must have; None for any.
        shape: The lengths that it must have, None for one that may be any; None for any shape.
        mapped: Whether it stays on disk, memory-mapped.

    Raises:
        RetrievalError: the file is damaged, or holds another array.
    """
    with undamaged(path):
        # A header may speak of more than the file has: mapped, that is seen before there is memory for it.
        found: NDArray[Any] = np.load(path, mmap_mode="r")
        if dtype is not None and found.dtype != dtype:
            raise ValueError(f"its numbers are {found.dtype}, not {np.dtype(dtype)}")
        if shape is not None and not _has_shape(found, shape):
            raise ValueError(f"its shape is {found.shape}")
        return found if mapped else np.array(found)


def _has_shape(array: NDArray[Any], shape: Sequence[int | None]) -> bool:
    return array.ndim == len(shape) and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))


def kept_rows(index: UpdatableIndex | Corpus, delete: Iterable[str]) -> NDArray[np.int64]:
    """The rows of an index that are left, in order, when the passages with these ids are deleted.

    Raises:
        UsageError: there is no passage with one of the ids.
    """
    missing = set(delete)
    kept = np.ones(len(index), bool)
    for row in range(len(index)) if missing else ():
        if (found := index.passage(row).id) in missing:
            kept[row] = False
            missing.remove(found)
    refuse_missing(missing)
    return np.flatnonzero(kept)


def refuse_missing(missing: Iterable[str]) -> None:
    """Refuse to delete passages of which these are not there.

    Raises:
        UsageError: there is any.
    """
    if first := sorted(missing):
        some = ", ".join(map(repr, first[:5])) + (" …" if len(first) > 5 else "")
        raise UsageError(f"the index has no passage with the id {some}: nothing was deleted")


def stamp(directory: Path, name: str) -> tuple[int, int]:
    """Tells whether the index in the directory, described in the file `name`, is another one than before."""
    found = (directory / name).stat()
    return found.st_ino, found.st_mtime_ns


@contextmanager
def updating(directory: Path, name: str, opened: tuple[int, int]) -> Iterator[Path]:
    """Like `building`, gives the working directory in which a changed index is built; `opened` is its `stamp` of
    when it was opened.

    Raises:
        UsageError: another process is changing the index, or has changed it since.
    """
    directory = resolved(directory)
    with building(directory.with_name(f"{directory.name}.update")) as work:
        if stamp(directory, name) != opened:
            raise UsageError(f"{directory} has been changed since it was opened: open it again")
        yield work


def check_target(out: Path, description: str, kind: str, overwrite: bool) -> None:
    """Check that an index of this kind may be written to `out`; `description` is the file that describes one.

    Raises:
        UsageError: there is something in `out` that must not be replaced.
    """
    if out.exists() and not overwrite:
        raise UsageError(f"{out} exists: choose another directory, or say --overwrite (overwrite=True)")
    if out.exists() and not (out / description).is_file():
        raise UsageError(f"{out} exists and is no {kind} index, so it is not overwritten: choose another directory")


def building_directory(out: Path) -> Path:
    """Where a build that can be resumed keeps its work until the index in `out` is finished."""
    out = resolved(out)  # what a symbolic link points to may be on another disk
    return out.with_name(f"{out.name}.building")


@contextmanager
def building(out: Path) -> Iterator[Path]:
    """Gives the working directory of a build that can be resumed, locked; removes it when the block ends well.

    Raises:
        UsageError: another process is building the same index.
    """
    work = building_directory(out)
    work.mkdir(parents=True, exist_ok=True)
    with locked(work / "lock", f"{work} is in use: another process is building that index"):
        yield work
        for path in work.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "lock":
                path.unlink()
    with suppress(OSError):  # another process has begun to build in it
        work.rmdir()


@contextmanager
def built_at_once(out: Path) -> Iterator[Path]:
    """Gives an empty directory that becomes `out` when the block ends well, in place of what may be there.

    Otherwise nothing is left of it, unless the process is killed.
    """
    out = resolved(out)  # what a symbolic link points to may be on another disk
    work = out.with_name(f"{out.name}.building-{uuid4().hex[:8]}")
    work.mkdir(parents=True)
    try:
        yield work
        replace_directory(out, work)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def _offsets(path: Path) -> Path:
    return path.with_name(path.name + ".offsets.npy")
