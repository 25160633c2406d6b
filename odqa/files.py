"""Files that are written whole or not at all, lines of JSON, locks between processes, and files that are damaged."""

import errno
import json
import os
import pickle
import shutil
import stat
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO
from zipfile import BadZipFile

from filelock import FileLock, Timeout

from odqa.errors import OdqaError, RetrievalError, UsageError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

__all__ = [
    "LongLine",
    "check_room",
    "damage",
    "json_line",
    "json_page",
    "lines_of",
    "locked",
    "open_regular",
    "read_json",
    "read_whole",
    "replace_directory",
    "replaced",
    "replaced_directory",
    "resolved",
    "undamaged",
    "write_whole",
    "writing_lines",
]

_LARGEST = 2**28  # bytes of a file that is read at once
_LONGEST_LINE = 2**26  # bytes
_BLOCK = 2**16  # bytes that are looked through at once

REBUILD = "build the index again"
# What libraries raise at a file that is damaged; NumPy reads the header of an array as Python.
_DAMAGE = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError, OSError, RuntimeError),
    *(MemoryError, SyntaxError, TokenError, BadZipFile, zlib.error, pickle.UnpicklingError),
)


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


def open_regular(path: str | Path) -> BufferedReader:
    """Open a file to read. What holds no data is refused: a pipe waits until somebody writes, a device may never end.

    Raises:
        OSError: it is, or it cannot be read.
    """
    kind = stat.S_IFMT(os.stat(path).st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR):  # of a directory `open` says what is wrong
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return open(path, "rb")


def read_whole(path: str | Path) -> bytes:
    """What a file holds that is read at once.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger than 256 MiB.
    """
    with open_regular(path) as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(errno.EFBIG, f"it is larger than {_LARGEST:,} bytes", str(path))
    return content


class LongLine(ValueError):
    """A line is longer than any that somebody writes.

    Attributes:
        number: Which line it is, counted from 1.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"it is longer than {_LONGEST_LINE:,} bytes")
        self.number = number


def lines_of(file: BufferedIOBase) -> Iterator[bytes]:
    """The lines of a file, which may hold anything: a few bytes of gzip can be a line that no memory holds.

    Raises:
        LongLine: a line is longer than 64 MiB.
        OSError: as the file does.
    """
    for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE + 1), b""), 1):
        if len(line) > _LONGEST_LINE:
            raise LongLine(number)
        yield line


@contextmanager
def writing_lines(path: Path) -> Iterator[Callable[[bytes], None]]:
    """Gives a function that appends a line to the file, whole or not at all; when it returns, the line outlives this
    process. One that could not be written is tried again with the next, and once more when the block ends.

    First removes a last line that is cut off, so only one process at a time may append. Any thread may, but not after
    the block: that raises ValueError.

    Raises:
        OSError: the file cannot be written; also from the function.
    """
    file, lock, left = path.open("ab", buffering=0), threading.Lock(), deque[bytes]()
    end = _whole_lines(path)
    os.truncate(path, end)

    def write_what_is_left() -> None:
        nonlocal end
        while left:
            rest = left[0]
            try:
                while rest:  # a disk that is nearly full takes a part, and refuses the rest
                    rest = rest[file.write(rest) :]
            except OSError:
                with suppress(OSError):
                    os.truncate(path, end)
                raise
            end += len(left.popleft())

    def write(line: bytes) -> None:
        with lock:
            if file.closed:
                raise ValueError(f"{path} is closed")
            left.append(line)
            write_what_is_left()

    try:
        yield write
    finally:
        with lock:  # closed under a writer, the file's number could be another file's by the time it writes
            with suppress(OSError):  # which the one who wrote the line was told
                write_what_is_left()
            file.close()


def check_room(path: Path, more: int) -> None:
    """Check that a file can grow by so many bytes, as far as its disk and the limits of this process tell.

    Raises:
        OSError: it cannot.
    """
    size = path.stat().st_size if path.exists() else 0
    if resource is not None:
        largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if largest != resource.RLIM_INFINITY and size + more > largest:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    if shutil.disk_usage(path.parent).free < more:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def _whole_lines(path: Path) -> int:
    """Bytes of the file up to the end of its last whole line."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            if (found := file.read(end - start).rfind(b"\n")) >= 0:
                return start + found + 1
            end = start
    return 0


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
    """Hold a lock as long as the block runs: one of the operating system, which ends with the process at the latest.

    Args:
        path: The lock file, which is removed when the block ends; its directory must be there.
        in_use: What to say when another process holds the lock.

    Raises:
        UsageError: another process holds the lock.
        OSError: the file cannot be made, or its disk knows no locks.
    """
    lock = FileLock(path, blocking=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise UsageError(in_use) from error
    try:
        yield
    finally:
        if os.name != "nt":  # there an open file cannot be removed, and `FileLock` does it afterwards
            path.unlink(missing_ok=True)
        lock.release()


def damage(path: Path, reason: object = "", remedy: str = REBUILD) -> RetrievalError:
    """The error to raise where a file or directory is damaged: one line that says what is wrong and what to do."""
    why = " ".join(str(reason).split())[:200]
    return RetrievalError(f"{path} is damaged: {remedy}" + (f" ({why})" if why else ""))


@contextmanager
def undamaged(path: Path, remedy: str = REBUILD) -> Iterator[None]:
    """Whatever goes wrong in the block, in which the file or directory is read, becomes the error of `damage`.

    Raises:
        RetrievalError: it is damaged.
    """
    try:
        yield
    except OdqaError:
        raise
    except _DAMAGE as error:
        raise damage(path, error, remedy) from error


def read_json(path: Path, remedy: str = REBUILD) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        RetrievalError: the file cannot be read, or holds something else.
    """
    with undamaged(path, remedy):
        content = json.loads(read_whole(path))
        if not isinstance(content, dict):
            raise TypeError("it is no JSON object")
        return content


def replace_directory(path: Path, new: Path) -> None:
    """Move the directory `new`, which stands beside `path`, to `path`, when all its files are on disk.

    At any moment `path` is the old directory, the new one or, between two renames, absent: then the old one is called
    as `replaced_directory` says. Where `path` is a symbolic link, what it points to is replaced. See that only one
    process does this at a time.
    """
    path = resolved(path)
    for file in [*new.iterdir(), new]:
        _sync(file)
    old = replaced_directory(path)
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)  # of a process that was killed when it removed it
        path.rename(old)
    new.rename(path)
    _sync(path.parent)
    if old.exists():
        shutil.rmtree(old)


def replaced_directory(path: Path) -> Path:
    """The name of the directory `path` while another one takes its place."""
    path = resolved(path)
    return path.with_name(f"{path.name}.replaced")


def resolved(path: str | Path) -> Path:
    """The absolute path without symbolic links; of links that lead back to themselves, where to open it says so."""
    return Path(os.path.realpath(path))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
