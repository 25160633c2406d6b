"""Parts of a BM25 index that score as the whole: how rare a word is and how long passages are, is counted in all."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from retrieval.bm25.build import Statistics, write_index
from retrieval.bm25.search import BM25
from retrieval.indexes import Progress

__all__ = ["split"]


def split(index: BM25, parts: Sequence[range], directories: Sequence[Path], progress: Progress) -> None:
    """Write an index of each part of the rows into its directory, which must be empty.

    Each score is that of the whole index to the last bit. The passages are read twice: their average length is in no
    file. `progress` goes through them as "counting" and as "splitting".
    """
    words, stop = index.analyser.make_words(), set(index.analyser.stop_words)
    tokens = 0
    for row in progress(range(len(index)), desc="counting"):
        passage = index.passage(row)
        tokens += sum(word not in stop for word in words(f"{passage.title} {passage.text}"))
    whole = Statistics(len(index), tokens / len(index), index.frequency)
    rows = iter(progress(range(len(index)), desc="splitting"))
    for part, directory in zip(parts, directories, strict=True):
        passages = map(index.passage, islice(rows, len(part)))
        write_index(passages, directory, index.analyser, index.k1, index.b, iter, whole)
    next(rows, None)  # or the progress would not see its end
