"""ColBERT's vectors of passages and queries, as lists of vectors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.colbert.encoder import Checkpoint, find_checkpoint, find_device
from retrieval.passage import Passage, joined

__all__ = ["LateEncoder"]

_PROBE_TEXT = "The quick brown fox jumps over the lazy dog."


class LateEncoder:
    """A ColBERT checkpoint. Safe for many threads.

    Args:
        checkpoint: Directory or Hugging Face name.
        doc_maxlen: Tokens of a passage; what is longer is cut off.
        device: Where to encode; by default the best there is.
        trusted: Whether code that the checkpoint brings may be run.

    Attributes:
        name: The checkpoint, found from any working directory.
        dim: Numbers of a vector.

    Raises:
        UsageError: the checkpoint cannot be loaded, or the length is out of range.
    """

    def __init__(self, checkpoint: str | Path, doc_maxlen: int, device: str | None, *, trusted: bool) -> None:
        self.name, directory = find_checkpoint(checkpoint)
        self._checkpoint = Checkpoint(directory, find_device(device), trusted=trusted, doc_maxlen=doc_maxlen)
        self.dim = self._checkpoint.dim

    def encode_queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """For each query a table of one row per token."""
        return [vectors.cpu().numpy() for vectors in self._checkpoint.encode_queries(texts)]

    def encode_passages(self, passages: Sequence[Passage], batch_size: int) -> list[NDArray[np.float32]]:
        """For each passage, title and text together, a table of one row per token; values of half precision."""
        vectors, lengths = self._checkpoint.encode_passages([joined(passage) for passage in passages], batch_size)
        return [part.float().numpy() for part in vectors.split(lengths)]

    def probe(self) -> NDArray[Any]:
        """The means of the vectors of a fixed text, as a query and as a passage."""
        query, passage = self.encode_queries([_PROBE_TEXT])[0], self.encode_passages([Passage("", _PROBE_TEXT)], 1)[0]
        return np.concatenate([query.mean(0), passage.mean(0)])
