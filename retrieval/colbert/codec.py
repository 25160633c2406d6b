"""The codec of a ColBERT index: a vector is its nearest centroid and a residual of a few bits per number."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.colbert.libraries import ColBERTConfig, ResidualCodec, torch

__all__ = ["REMEDY", "Codec", "load_lengths", "load_tensors"]

REMEDY = "build or fetch it again"
"""What to do where a file of an index is damaged, which may be one that colbert-ai made."""


class Codec(ResidualCodec):
    """colbert-ai's codec on the CPU, where it needs no compiled extensions.

    The slow parts are done here instead, on the device.
    """

    def __init__(
        self,
        bits: int,
        device: torch.device,
        *,
        centroids: torch.Tensor,
        avg_residual: torch.Tensor | None = None,
        buckets: tuple[torch.Tensor | None, torch.Tensor | None] = (None, None),
    ) -> None:
        config = ColBERTConfig(dim=centroids.shape[1], nbits=bits)
        config.total_visible_gpus = 0
        super().__init__(config, centroids, avg_residual, *buckets)
        self.device, self.on_device = device, self.centroids.to(device)
        self.packed = self.dim * bits // 8  # bytes of a residual
        if self.bucket_weights is not None:  # what each byte of a residual stands for
            self.numbers = self.bucket_weights[self.decompression_lookup_table[self.reversed_bit_map.long()].long()]

    @classmethod
    def load_from(cls, path: Path, bits: int, device: torch.device) -> "Codec":
        centroids, average, buckets = (load_tensors(path / f"{n}.pt") for n in ("centroids", "avg_residual", "buckets"))
        cutoffs, weights = buckets
        if centroids.ndim != 2 or bits not in (1, 2, 4, 8) or weights.shape != (2**bits,):
            raise ValueError("its codec is none")
        return cls(bits, device, centroids=centroids, avg_residual=average, buckets=(cutoffs, weights))

    def compress_into_codes(self, embs: torch.Tensor, out_device: object = None) -> torch.Tensor:
        """The nearest centroids of vectors, on the CPU."""
        centroids = self.on_device
        parts = embs.split(max(1, 2**27 // len(centroids)))
        return torch.cat([(part.to(centroids) @ centroids.T).argmax(1).cpu() for part in parts])

    def nearness(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The cosine of each centroid and each of some vectors: centroids x vectors."""
        found: NDArray[np.float32] = (self.on_device @ torch.from_numpy(vectors).to(self.device).T).cpu().numpy()
        return found

    def vectors(self, codes: NDArray[Any], residuals: NDArray[Any]) -> torch.Tensor:
        """The vectors that codes and residuals stand for."""
        vectors = torch.nn.functional.embedding(torch.from_numpy(residuals).int(), self.numbers).flatten(1)
        vectors += self.centroids.index_select(0, torch.from_numpy(codes))
        return torch.nn.functional.normalize(vectors, dim=-1, out=vectors)


def load_tensors(path: Path) -> Any:
    """The tensor of a file, or a tuple with its tensors, memory-mapped. Objects of other classes are not unpickled.

    Raises:
        ValueError: a tensor claims more values than the file has; where it is damaged, torch raises other errors.
    """
    found = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    for part in found if isinstance(found, tuple) else (found,):
        if isinstance(part, torch.Tensor) and not part.is_contiguous():
            raise ValueError(f"{path.name} has a tensor that is not whole")
    return found


def load_lengths(path: Path, n: int) -> NDArray[np.int64]:
    """How many tokens each passage of chunk `n` of the index in `path` has."""
    return np.array(json.loads((path / f"doclens.{n}.json").read_bytes()), np.int64)
