"""The kinds of index, and the class of each."""

from importlib import import_module
from typing import Any

__all__ = ["index_class"]

_CLASSES = {"bm25": "BM25", "dense": "Dense", "colbert": "ColBERT", "hipporag": "HippoRAG", "qdrant": "Qdrant"}


def index_class(kind: str) -> Any:
    """The class that builds and opens indexes of a kind; imported only now, since each needs another extra.

    Raises:
        UsageError: the extra is not installed.
    """
    return getattr(import_module(f"retrieval.{kind}"), _CLASSES[kind])
