"""Dense retrieval: passages and queries as vectors of one model."""
