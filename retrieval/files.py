"""What indexes on disk have in common: their passages, the page that says what they are, and how they appear at once.

DIR/NAME.json                 what the index is, and the size of each file; written last
    corpus.jsonl              the passages, one JSON object per line
    corpus.jsonl.offsets.npy  where each line begins
    …                         what the index adds
"""

import json
import mmap
import os
import shutil
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from retrieval.errors import RetrievalError, UsageError
from retrieval.passage import Passage

__all__ = [
    "CORPUS",
    "LineWriter",
    "Lines",
    "checked",
    "from_line",
    "json_line",
    "json_page",
    "locked",
    "publish",
    "read_about",
    "replaced",
    "to_line",
    "write_about",
    "write_whole",
]

CORPUS = "corpus.jsonl"


def checked(passages: Iterable[Passage]) -> Iterator[Passage]:
    """The passages as they come.

    Raises:
        UsageError: two have the same id, or one has no text.
    """
    ids: set[str] = set()
    for passage in passages:
        if passage.id in ids:
            raise UsageError(f"two passages have the id {passage.id!r}: ids must differ")
        if not passage.text.strip():
            raise UsageError(f"passage {passage.id!r} has no text")
        ids.add(passage.id)
        yield passage


def to_line(passage: Passage) -> bytes:
    """The passage as a line of JSON.

    Raises:
        UsageError: it has characters that UTF-8 cannot say (lone surrogates).
    """
    fields = {"id": passage.id, "title": passage.title, "text": passage.text}
    try:
        return json.dumps(fields, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError as error:
        raise UsageError(f"passage {passage.id!r} is not valid Unicode: {error.reason}") from error


def from_line(line: bytes, score: float | None = None) -> Passage:
    """The passage of a line."""
    return Passage(**json.loads(line), score=score)


class LineWriter:
    """Writes lines, and beside them where each begins, for `Lines` to read."""

    def __init__(self, path: Path) -> None:
        self._path, self._file, self._offsets = path, path.open("wb"), array("q", [0])

    def write(self, line: bytes) -> None:
        self._offsets.append(self._offsets[-1] + self._file.write(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        np.save(_offsets(self._path), np.frombuffer(self._offsets, np.int64))


class Lines(Sequence[bytes]):
    """The lines of a file, memory-mapped."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._offsets = np.load(_offsets(path), mmap_mode="r")

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, n: int) -> bytes:  # type: ignore[override]  # no slices are asked for
        return self._bytes[self._offsets[n] : self._offsets[n + 1]]


@contextmanager
def replaced(path: str | Path) -> Iterator[BinaryIO]:
    """Write a file whole or not at all.

    Gives a binary file to write to. When the block ends, what was written is on disk and takes the place of `path`.
    When the block raises, `path` is as it was before. Until then the file is called ``PATH.part``; a killed process
    leaves that behind, and the next writer overwrites it. So only one process at a time may write the same path.

    Raises:
        OSError: the file cannot be written.
    """
    path = Path(path)
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_whole(path: str | Path, content: bytes | str) -> None:
    """Write a file whole or not at all, text as UTF-8; see `replaced`.

    Raises:
        OSError: the file cannot be written.
    """
    with replaced(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def json_line(value: Any) -> bytes:
    """The value as one line of JSON, with its line end.

    A lone surrogate, which an LM can write and UTF-8 cannot hold, becomes the escape that JSON has for it.
    """
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def json_page(value: Any) -> bytes:
    """The value as indented JSON with a line end, for files that people read too; lone surrogates as in `json_line`."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "backslashreplace")


@contextmanager
def locked(path: Path, in_use: str) -> Iterator[None]:
    """Hold a lock as long as the block runs. The lock is a file, which stays there.

    Args:
        path: The lock file; its directory must be there.
        in_use: What to say when another process holds the lock.

    Raises:
        UsageError: another process holds the lock.
    """
    import fcntl  # here, because not every system that BM25 runs on has it

    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(in_use) from error
        yield


def write_about(directory: Path, name: str, about: dict[str, Any]) -> None:
    """Write `name`, which says what the index in `directory` is, with the sizes of the files that are there."""
    about = about | {"files": {file.name: file.stat().st_size for file in sorted(directory.iterdir())}}
    (directory / name).write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")


def read_about(directory: Path, name: str, kind: str, version: int) -> dict[str, Any]:
    """Read what `write_about` wrote, and check the sizes of the files.

    Args:
        directory: Of the index.
        name: Of the file.
        kind: What the index is called in errors, such as "BM25".
        version: The format that the caller reads, to be found under "format".

    Raises:
        UsageError: there is no finished index of that kind, or one of another format.
        RetrievalError: the index is damaged.
    """
    if not directory.is_dir():
        raise UsageError(f"there is no {kind} index in {directory}: build one with `python -m retrieval index`")
    try:
        about: dict[str, Any] = json.loads((directory / name).read_bytes())
        found, sizes = about["format"], about["files"]
    except FileNotFoundError:
        raise UsageError(
            f"{directory} is no {kind} index, or one whose build was not finished: build it again"
        ) from None
    except (ValueError, TypeError, KeyError) as error:
        raise RetrievalError(f"{directory / name} is damaged: build the index again") from error
    if found != version:
        raise UsageError(f"{directory} has index format {found}, this version reads {version}: build the index again")
    for file, size in sizes.items():
        found = (directory / file).stat().st_size if (directory / file).is_file() else 0
        if found != size:
            raise RetrievalError(
                f"{directory / file} is damaged, {found} bytes instead of {size}: build the index again"
            )
    return about


def publish(building: Path, out: Path) -> None:
    """Give a finished directory its name; at any moment `out` is the old index, the new one or absent."""
    for path in [*building.iterdir(), building]:
        _sync(path)
    old = building.with_name(f"{building.name}-old")
    if out.exists():
        out.rename(old)
    building.rename(out)
    _sync(out.parent)
    if old.exists():
        shutil.rmtree(old)


def _offsets(path: Path) -> Path:
    return path.with_name(path.name + ".offsets.npy")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
