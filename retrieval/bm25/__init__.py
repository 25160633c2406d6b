"""BM25 over an index on disk."""
