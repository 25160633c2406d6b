"""ColBERT: late interaction over a PLAID index on disk."""

from retrieval.colbert.search import ColBERT

__all__ = ["ColBERT"]
