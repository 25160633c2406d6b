"""The ColBERTv2 protocol: a client, and in `retrieval.remote.server` a server."""

from retrieval.remote.client import ColBERTv2

__all__ = ["ColBERTv2"]
