"""Passages in: retrievers that find passages for a query, and know nothing about questions."""

from retrieval.base import Retriever
from retrieval.errors import OdqaError, RetrievalError, UsageError
from retrieval.memory import Memory
from retrieval.passage import Passage, number, pick, union
from retrieval.specs import FORMS, load

__all__ = [
    "FORMS",
    "Memory",
    "OdqaError",
    "Passage",
    "RetrievalError",
    "Retriever",
    "UsageError",
    "load",
    "number",
    "pick",
    "union",
]
