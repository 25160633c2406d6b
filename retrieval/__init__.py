"""Passages in: retrievers that find passages for a query, and know nothing about questions."""

import odqa.interrupts  # noqa: F401  # first: from here on an interrupt ends the process at once

# isort: split
from odqa.errors import OdqaError, RetrievalError, UsageError
from retrieval.base import Retriever
from retrieval.foreign import AnyRetriever, as_passages, as_retriever
from retrieval.memory import Memory
from retrieval.passage import Passage, number, pick, union
from retrieval.specs import FORMS, load

__all__ = [
    "FORMS",
    "AnyRetriever",
    "Memory",
    "OdqaError",
    "Passage",
    "RetrievalError",
    "Retriever",
    "UsageError",
    "as_passages",
    "as_retriever",
    "load",
    "number",
    "pick",
    "union",
]
