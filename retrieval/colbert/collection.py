"""The passages of a ColBERT index that colbert-ai made: a file of lines ``number<TAB>title | text``."""

import logging
import mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from odqa.errors import UsageError
from odqa.files import replaced, undamaged
from retrieval.colbert.codec import REMEDY
from retrieval.indexes import CORPUS, Corpus, read_array
from retrieval.passage import Passage

__all__ = ["Collection", "open_passages"]

logger = logging.getLogger(__name__)


class Collection:
    """The passages of a collection, memory-mapped. Their ids are their numbers.

    Where each line begins is kept in a file beside the collection, so that only the first opening reads all of it. A
    damaged line raises RetrievalError when it is read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with undamaged(path, REMEDY):
            with path.open("rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._offsets = self._find_lines()

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def _find_lines(self) -> NDArray[np.int64]:
        """Where each line begins, and where the last one ends."""
        kept = self._path.with_name(f"{self._path.name}.offsets.npy")
        if kept.is_file():
            known: NDArray[np.int64] = read_array(kept, mapped=True)
            if known.dtype == np.int64 and known.ndim == 1 and len(known) and known[-1] == len(self._bytes):
                return known
        logger.warning("going through %s to find its lines, once", self._path)
        with self._path.open("rb") as file:
            offsets = np.cumsum(np.fromiter((0, *map(len, file)), np.int64))
        try:
            with replaced(kept) as file:
                np.save(file, offsets)
        except OSError as error:
            logger.warning("cannot write %s (%s): each opening will read the whole collection", kept, error.strerror)
        return offsets

    def passage(self, row: int, score: float | None = None) -> Passage:
        """The passage in that row, counted from 0, with this score."""
        line = self._bytes[self._offsets[row] : self._offsets[row + 1]]
        with undamaged(self._path, REMEDY):
            number, text, *rest = line.decode().strip("\r\n ").split("\t")
            if number != str(row):
                raise ValueError(f"line {row + 1} has the number {number} instead of {row}")
        title, bar, body = (rest[0], " | ", text) if rest else text.partition(" | ")
        return Passage(str(row), body, title, score) if bar else Passage(str(row), text, "", score)


def open_passages(index: Path, recorded: object, collection: str | Path | None) -> Corpus | Collection:
    """The passages of an index: its own, or those of the collection that it was built from.

    Args:
        index: The directory of the index.
        recorded: What the index names: a path where colbert-ai made it, or something else if that was given a list.
        collection: The collection to use instead.

    Raises:
        UsageError: there are no passages where they could be.
    """
    if collection is None and (index / CORPUS).is_file():
        return Corpus(index)
    if collection is not None:
        places = [Path(collection)]
    else:
        path = Path(recorded if isinstance(recorded, str) else "collection.tsv")
        places = [path, index / path.name, index.parent / path.name]
        places += sorted((index.parent.parent / "collection").rglob(path.name))  # where the published index has it
    for place in places:
        if place.is_file():
            return Collection(place)
    raise UsageError(
        f"the index in {index} comes without passages, and they are not in {places[-1]}: say which collection it was "
        "built from"
    )
