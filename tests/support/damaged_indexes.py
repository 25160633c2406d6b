"""Damages an index many times, and sees whether that is said or answered."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from retrieval import RetrievalError, Retriever, UsageError
from retrieval.descriptions import verify

__all__ = ["QUERIES", "attacked", "found"]

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


def _damage(file: Path, chance: random.Random) -> None:
    """One bit is another one, or the file ends early."""
    content = bytearray(file.read_bytes())
    if chance.random() < 0.2:
        del content[chance.randrange(len(content)) :]
    else:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)
