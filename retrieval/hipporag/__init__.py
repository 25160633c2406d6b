"""HippoRAG 2: facts that an LM draws from the passages, linked in a graph that a search walks."""

from retrieval.hipporag.search import HippoRAG

__all__ = ["HippoRAG"]
