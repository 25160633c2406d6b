"""Corpora: reading them from files, and in `retrieval.corpora.download` fetching known ones."""

from retrieval.corpora.reader import SAMPLE, read

__all__ = ["SAMPLE", "read"]
