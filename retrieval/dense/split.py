"""Parts of a dense index, with the vectors that the whole has."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from retrieval.dense.search import Dense
from retrieval.indexes import Progress

__all__ = ["split"]


def split(index: Dense, parts: Sequence[range], directories: Sequence[Path], progress: Progress) -> None:
    """Write an index of each part of the rows into its directory, which must be empty. Nothing is encoded; a graph is
    linked anew for each part, so that an approximate index may find more than the whole did. `progress` goes through
    the parts."""
    for rows, directory in progress(list(zip(parts, directories, strict=True)), desc="splitting"):
        work = directory / "work"
        work.mkdir()
        for file in index.write_part(rows, work).iterdir():
            file.rename(directory / file.name)
        shutil.rmtree(work)
