"""Dense retrieval over an index on disk."""

from retrieval.dense.encoder import PRESETS, Encoder
from retrieval.dense.search import Dense

__all__ = ["PRESETS", "Dense", "Encoder"]
