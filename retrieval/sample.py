"""The index of the packaged sample corpus, which is made once per user and kept."""

import tempfile
import weakref
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from odqa.errors import RetrievalError, UsageError
from retrieval.bm25 import BM25
from retrieval.bm25.build import FORMAT
from retrieval.corpora import SAMPLE, read

__all__ = ["load_sample"]

_MADE_BY = ("dspy-odqa", "bm25s", "PyStemmer")


def load_sample() -> BM25:
    """BM25 over the packaged sample corpus.

    The index is kept in `~/.cache/dspy-odqa`, under a name that says from what it was made. Where that cannot be
    written, or when another process is just writing it, it is made for this process alone.
    """
    try:
        kept = _place()
        try:
            return BM25(kept)
        except (UsageError, RetrievalError):  # there is none yet, or it is damaged
            return BM25.build(read(SAMPLE), kept, overwrite=True)
    except (OSError, RuntimeError, UsageError):  # it cannot be written there, or another process was first
        directory = tempfile.TemporaryDirectory(prefix="odqa-sample-")
        index = BM25.build(read(SAMPLE), Path(directory.name) / "index")
        weakref.finalize(index, directory.cleanup)  # the index is memory-mapped: it lives as long as the retriever
        return index


def _place() -> Path:
    made_from = [
        sha256(SAMPLE.read_bytes()).hexdigest(),
        *(f"{name} {version(name)}" for name in _MADE_BY),
        f"format {FORMAT}",
    ]
    name = sha256("\n".join(made_from).encode()).hexdigest()[:16]
    return Path.home() / ".cache" / "dspy-odqa" / f"sample-{name}"
