"""Parts of a BM25 index that score as the whole: how rare a word is and how long passages are, is counted in all."""

from collections.abc import Sequence
from pathlib import Path

from retrieval.bm25.build import Statistics, write_index
from retrieval.bm25.search import BM25

__all__ = ["split"]


def split(index: BM25, parts: Sequence[range], directories: Sequence[Path]) -> None:
    """Write an index of each part of the rows into its directory, which must be empty.

    Each score is that of the whole index to the last bit. The passages are read twice: their average length is in no
    file.
    """
    words, stop = index.analyser.make_words(), set(index.analyser.stop_words)
    tokens = 0
    for row in range(len(index)):
        passage = index.passage(row)
        tokens += sum(word not in stop for word in words(f"{passage.title} {passage.text}"))
    whole = Statistics(len(index), tokens / len(index), index.frequency)
    for rows, directory in zip(parts, directories, strict=True):
        write_index(map(index.passage, rows), directory, index.analyser, index.k1, index.b, iter, whole)
