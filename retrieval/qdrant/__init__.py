"""Passages in a collection of Qdrant, on a server or embedded in this process: BM25, dense vectors and ColBERT."""

from retrieval.qdrant.search import Qdrant

__all__ = ["Qdrant"]
