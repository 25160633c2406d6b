"""The archives in which corpora are published: checking them, and unpacking them into JSON lines.

Each function `read_…` streams the records of one kind of archive as passages, whose texts may be empty. Nothing is
unpacked to a path that an archive names.
"""

import bz2
import csv
import gzip
import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any

from odqa.errors import RetrievalError
from odqa.files import replaced
from retrieval.indexes import passage_line
from retrieval.passage import Passage

__all__ = ["ByteProgress", "check_archive", "read_hotpotqa17", "read_wiki17", "read_wiki18", "unpack"]

ByteProgress = Callable[[str, int, int | None], object]
"""Called with what is being done ("downloading", "checking", "unpacking"), the bytes done, and all bytes or None."""

_BLOCK = 2**20  # bytes


class _BadRecord(Exception):
    """What is wrong with a record."""


def read_wiki17(archive: IO[bytes]) -> Iterator[Passage]:
    """A gzipped tar with a file of JSON lines {"title": …, "text": [sentence, …]}; ids count the lines from 0."""
    with gzip.open(archive) as tar:
        for number, line in enumerate(chain.from_iterable(_members(tar, ".jsonl"))):
            fields = _fields(line)
            yield Passage(str(number), _joined(fields.get("text")), _string(fields.get("title")))


def read_wiki18(archive: IO[bytes]) -> Iterator[Passage]:
    """Gzipped tab-separated values with a header: id, text and title, quoted as in CSV files where need be."""
    with gzip.open(archive) as packed:
        rows = csv.reader(io.TextIOWrapper(packed, "utf-8", newline=""), "excel-tab")
        if (header := next(rows, None)) != ["id", "text", "title"]:
            raise _BadRecord(f"the columns must be id, text and title, not {header}")
        for row in rows:
            if len(row) != 3:
                raise _BadRecord(f"{len(row)} columns instead of 3 in line {rows.line_num}")
            identifier, text, title = row
            yield Passage(identifier, text, title)


def read_hotpotqa17(archive: IO[bytes]) -> Iterator[Passage]:
    """A bzipped tar of many bzipped files of JSON lines {"id": …, "title": …, "text": [sentence, …], …}.

    The sentences are plain text; another field, which is not read, has them with HTML links. Titles keep their
    entities (``&amp;``), because the questions name them so.
    """
    with bz2.open(archive) as tar:
        for file in _members(tar, ".bz2"):
            with bz2.open(file) as lines:
                for line in lines:
                    fields = _fields(line)
                    identifier = fields.get("id")
                    if type(identifier) is int:
                        identifier = str(identifier)
                    yield Passage(_string(identifier), _joined(fields.get("text")), _string(fields.get("title")))


def _members(tar: IO[bytes] | gzip.GzipFile, suffix: str) -> Iterator[IO[bytes]]:
    """The files of a tar whose names end with `suffix`, as streams."""
    found = False
    with tarfile.open(fileobj=tar, mode="r|", bufsize=tarfile.BLOCKSIZE) as members:  # reads no further than it says
        for member in members:
            if member.name.endswith(suffix) and (file := members.extractfile(member)) is not None:
                found = True
                yield file
    if not found:
        raise _BadRecord(f"it holds no {suffix} file")
    end = 0
    while block := tar.read(_BLOCK):  # up to the checksum of the compressed stream
        end += len(block)
        if block.strip(b"\0"):  # tarfile takes a damaged header for the end
            raise _BadRecord("its tar is damaged")
    if not end:
        raise _BadRecord("the end of its tar is missing")


def _fields(line: bytes) -> dict[str, Any]:
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise _BadRecord(f"not a JSON object: {line[:40]!r}")
    return fields


def _joined(sentences: Any) -> str:
    """One text of sentences, each of which may begin with the space before it."""
    if not isinstance(sentences, list):
        raise _BadRecord("a text that is not a list of sentences")
    return " ".join(filter(None, (_string(sentence).strip() for sentence in sentences)))


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _BadRecord(f"a string is missing, there is {str(value)[:40]}")
    return value


def check_archive(archive: Path, size: int | None, sha256: str | None, progress: ByteProgress) -> str:
    """The SHA-256 of an archive, in hexadecimal, when its size and SHA-256 are as expected; where they are
    not known they are not checked.

    Raises:
        RetrievalError: the archive is another file.
    """
    found = archive.stat().st_size
    if size not in (None, found):
        raise RetrievalError(f"{archive} has {found:,} bytes instead of {size:,}")
    digest, done = hashlib.sha256(), 0
    with archive.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            done += len(block)
            progress("checking", done, found)
    if sha256 not in (None, digest.hexdigest()):
        raise RetrievalError(f"{archive} is not the published file: its SHA-256 is {digest.hexdigest()}")
    return digest.hexdigest()


def unpack(
    archive: Path,
    read_archive: Callable[[IO[bytes]], Iterator[Passage]],
    records: int | None,
    out: Path,
    progress: ByteProgress,
) -> tuple[int, int]:
    """Write the passages of an archive to a file of gzipped JSON lines, whole or not at all.

    Args:
        archive: The archive, whose records `read_archive` streams.
        records: How many it must have; None does not check.
        out: The file to write.
        progress: See `ByteProgress`.

    Returns:
        How many passages were written, and how many records were left out because they have no text.

    Raises:
        RetrievalError: the archive is damaged.
        OSError: the disk is full, or something else is wrong with it.
    """
    total, passages, left_out, done = archive.stat().st_size, 0, 0, 0
    with replaced(out) as file:
        # The lowest level of compression: four times as fast as level 6, for a sixth more bytes.
        with archive.open("rb") as packed, gzip.GzipFile("", "wb", 1, file, mtime=0) as lines:
            try:
                for passage in read_archive(packed):
                    if passage.text.strip():
                        lines.write(passage_line(passage))
                        passages += 1
                    else:
                        left_out += 1
                    if (position := packed.tell()) > done:
                        progress("unpacking", position, total)
                        done = position
            except (_BadRecord, EOFError, zlib.error, tarfile.TarError, csv.Error, ValueError, RecursionError) as error:
                raise _damaged(archive, passages + left_out, error) from error
            except OSError as error:
                if error.errno is not None:  # the disk, not the archive
                    raise
                raise _damaged(archive, passages + left_out, error) from error
        if records not in (None, passages + left_out):
            raise RetrievalError(f"{archive} has {passages + left_out:,} records instead of {records:,}")
    return passages, left_out


def _damaged(archive: Path, records: int, error: Exception) -> RetrievalError:
    return RetrievalError(f"{archive} is damaged after record {records:,} ({error}): delete it and fetch it again")
