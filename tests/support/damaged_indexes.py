"""Damages an index many times, and sees whether that is said or answered."""

import json
import os
import pickle
import random
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from support.hostile_pickle import Hostile

from retrieval import RetrievalError, Retriever, UsageError
from retrieval.descriptions import verify, write_description

__all__ = ["QUERIES", "attacked", "found", "with_other_files"]

QUERIES = ("cat on a mat", "who sat in rome")


def found(index: Retriever) -> list[list[tuple[str, str]]]:
    """The passages that the index has for a few queries."""
    return [[(passage.id, passage.text) for passage in index(query, 3)] for query in QUERIES]


def attacked(whole: Path, work: Path, open_index: Callable[[Path], Retriever], *, verified: bool = True) -> int:
    """Damage a copy of the index 200 times, once each, and search.

    Args:
        whole: The directory of the index.
        work: A directory to make for the copy.
        open_index: Opens the copy.
        verified: Whether the index has checksums, which see every damage.

    Returns:
        How often the damage was said, in one line.
    """
    chance, said = random.Random(0), 0
    files = sorted(str(file.relative_to(whole)) for file in whole.rglob("*") if file.is_file())
    for number in range(200):
        shutil.copytree(whole, work)
        _damage(work / files[number % len(files)], chance)
        if verified:
            with pytest.raises((UsageError, RetrievalError)):
                verify(work)
        try:
            found(open_index(work))
        except (UsageError, RetrievalError) as error:
            said += "\n" not in str(error)
        shutil.rmtree(work)
    return said


def with_other_files(whole: Path, work: Path, description: str, open_index: Callable[[Path], Retriever]) -> int:
    """Put something else in the place of each file of a copy of the index, and search; no pickle among it is read.

    The description names the sizes and checksums of what is there then, so that they do not see the difference.

    Args:
        whole: The directory of the index.
        work: A directory to make for the copy.
        description: The name of the file that describes it.
        open_index: Opens the copy.

    Returns:
        How often that was said, in one line.
    """
    said, hostile, array = 0, Hostile(work.parent / "harm"), BytesIO()
    np.save(array, np.array([hostile], object), allow_pickle=True)
    others = [
        b"",
        b"[]",
        b"3",
        b'"a"',
        b"null",
        b'{"a": {}}',
        b"[1e999]",
        b"[" * 99_999,
        b'{"a":' * 9_999,
        "directory",
        "pipe",
    ]
    others += [pickle.dumps(hostile), array.getvalue()]
    for file in sorted(file.relative_to(whole) for file in whole.rglob("*") if file.is_file()):
        for content in others:
            shutil.copytree(whole, work)
            (work / file).unlink()
            if isinstance(content, bytes):
                (work / file).write_bytes(content)
            else:
                (work / file).mkdir() if content == "directory" else os.mkfifo(work / file)
            if str(file) == description:
                with pytest.raises((UsageError, RetrievalError)) as raised:
                    verify(work)
                assert "\n" not in str(raised.value)
            else:
                _described_anew(work, description)
            try:
                found(open_index(work))
            except (UsageError, RetrievalError) as error:
                said += "\n" not in str(error)
            shutil.rmtree(work)
    assert not hostile.file.exists()
    return said


def _described_anew(index: Path, description: str) -> None:
    """Make the index's description name the sizes and checksums of its files as they are now."""
    told = json.loads((index / description).read_bytes())
    (index / description).unlink()
    files = [file for file in index.iterdir() if not file.is_file()]
    for directory in files:
        directory.rename(index.parent / directory.name)
    write_description(index, description, {key: told[key] for key in told if key != "files" and "sha256" not in key})
    for directory in files:
        (index.parent / directory.name).rename(directory)


def _damage(file: Path, chance: random.Random) -> None:
    """One bit is another one, or the file ends early."""
    content = bytearray(file.read_bytes())
    if chance.random() < 0.2:
        del content[chance.randrange(len(content)) :]
    else:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)
