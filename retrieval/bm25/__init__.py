"""BM25 over an index on disk."""

from retrieval.bm25.analyser import Analyser
from retrieval.bm25.search import BM25

__all__ = ["BM25", "Analyser"]
