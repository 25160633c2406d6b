"""Damages an index many times, and sees whether that is said or answered."""

import json
import os
import pickle
import random
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from support.hostile_pickle import Hostile

from retrieval import RetrievalError, Retriever, UsageError
from retrieval.commands import verify
from retrieval.descriptions import write_description

__all__ = ["QUERIES", "attacked", "found", "mixed", "verify_all", "with_other_files"]

QUERIES = ("cat on a mat", "who sat in rome")


def found(index: Retriever) -> list[list[tuple[str, str]]]:
    """The passages that the index has for a few queries."""
    return [[(passage.id, passage.text) for passage in index(query, 3)] for query in QUERIES]


def verify_all(path: Path) -> None:
    """`odqa verify`, in this process."""
    for check in verify.parts_of(path).values():
        check(lambda count: None)


def complaint(do: Callable[[], object]) -> str | None:
    """What is said of damage, in one line; None where nothing is said."""
    try:
        do()
    except (UsageError, RetrievalError) as error:
        said = str(error)
    else:
        return None
    assert "\n" not in said
    return said


def attacked(
    whole: Path, work: Path, open_index: Callable[[Path], Retriever], *, times: int = 200, seed: int = 0
) -> int:
    """Damage a copy of the index in one place, as many times: its checksums see every damage. Then search.

    Args:
        whole: The directory of the index.
        work: A directory to make for the copy.
        open_index: Opens the copy.
        times: How often.
        seed: Draws the damages.

    Returns:
        How often a search said the damage, in one line.
    """
    chance, said = random.Random(seed), 0
    files = _files(whole)
    expected = found(open_index(whole))
    for number in range(times):
        shutil.copytree(whole, work)
        file = files[number % len(files)]
        _damage(work / file, chance)
        seen = complaint(lambda: verify_all(work))
        assert seen or file.name == "meta.json"  # of Qdrant, in which much has no meaning here
        assert not seen or str(work) in seen or file.name in seen
        answers: list[Any] = []
        heard = complaint(lambda: answers.extend(found(open_index(work))))  # noqa: B023  # called at once
        assert seen or heard or answers == expected
        said += heard is not None
        shutil.rmtree(work)
    return said


def mixed(one: Path, other: Path, work: Path, open_index: Callable[[Path], Retriever]) -> int:
    """Put each file of another build into a copy of an index: its checksums see it. Then search.

    Returns:
        How many files were put.
    """
    put = 0
    for file in _files(one):
        if (other / file).is_file() and (other / file).read_bytes() != (one / file).read_bytes():
            shutil.copytree(one, work)
            shutil.copyfile(other / file, work / file)
            assert complaint(lambda: verify_all(work))
            complaint(lambda: found(open_index(work)))
            shutil.rmtree(work)
            put += 1
    return put


def _files(index: Path) -> list[Path]:
    return sorted(file.relative_to(index) for file in index.rglob("*") if file.is_file() and file.name != ".lock")


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
    for file in _files(whole):
        for content in others:
            shutil.copytree(whole, work)
            (work / file).unlink()
            if isinstance(content, bytes):
                (work / file).write_bytes(content)
            else:
                (work / file).mkdir() if content == "directory" else os.mkfifo(work / file)
            if str(file) == description:
                assert complaint(lambda: verify_all(work))
            else:
                _described_anew(work, description)
            said += complaint(lambda: found(open_index(work))) is not None
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
