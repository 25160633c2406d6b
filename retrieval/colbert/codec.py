"""What building and searching a ColBERT index share: the checkpoint, the codec, and how the files are read."""

import json
import logging
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from retrieval.errors import UsageError
from retrieval.files import Lines, from_line
from retrieval.passage import Passage


@contextmanager
def _contained() -> Iterator[None]:
    """Undoes what importing colbert-ai does to the process: it sets multiprocessing's start method and a variable.

    The warnings are about parts of it, and of transformers, that are not used here. GitPython, which it pulls in, needs
    the variable set here where there is no git.
    """
    method, environment = multiprocessing.get_start_method(allow_none=True), dict(os.environ)
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        multiprocessing.set_start_method(method, force=True)
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)


try:
    with _contained():
        import faiss
        import torch
        from colbert.indexing.codecs.residual import ResidualCodec
        from colbert.infra import ColBERTConfig
        from colbert.modeling.colbert import ColBERT as Model
        from colbert.modeling.tokenization import DocTokenizer, QueryTokenizer
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError
except ModuleNotFoundError as error:
    raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[colbert]'") from error

__all__ = [
    "ABOUT",
    "FORMAT",
    "IVF",
    "METADATA",
    "Codec",
    "Corpus",
    "Encoder",
    "Progress",
    "device_of",
    "directory_of",
    "doclens",
    "faiss",  # through here, so that what is missing of the extra is said in one place
    "load",
    "replacing",
    "torch",
]

Progress = Callable[..., Iterable[Any]]

ABOUT, METADATA, IVF = "colbert.json", "metadata.json", "ivf.pid.pt"
FORMAT = 1

logger = logging.getLogger(__name__)


class Encoder:
    """A ColBERT checkpoint: texts in, a unit vector per token out. Safe for many threads."""

    def __init__(
        self, checkpoint: Path, device: torch.device, *, longest_query: int | None = None, **settings: Any
    ) -> None:
        self.device = device
        config = ColBERTConfig.load_from_checkpoint(str(checkpoint))
        if config is None or not (checkpoint / "config.json").is_file():
            raise UsageError(f"{checkpoint} is no ColBERT checkpoint: it needs an artifact.metadata and a config.json")
        config.configure(**settings, checkpoint=str(checkpoint), model_name=None)
        # One that believes in a GPU compiles nothing, and gives vectors of half precision, in which they are kept.
        config.total_visible_gpus = 1
        try:
            self._model = Model(str(checkpoint), config).to(self.device)
        except (OSError, ValueError, RuntimeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise UsageError(f"cannot load the ColBERT checkpoint {checkpoint}: {reason}") from error
        self.dim: int = config.dim
        self._longest_query: int = config.query_maxlen if longest_query is None else longest_query
        self._query = min(config.query_maxlen, self._longest_query)
        longest = self._model.bert.config.max_position_embeddings
        for setting, value in ("query_maxlen", self._longest_query), ("doc_maxlen", config.doc_maxlen):
            if not 4 <= value <= longest:
                raise UsageError(f"{setting} must be from 4 to {longest}, not {value}")
        self._queries, self._docs = QueryTokenizer(config, verbose=0), DocTokenizer(config)
        self._lock = Lock()  # tokenizers are not for several threads at once
        self._has_cut = False

    def queries(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """The vectors of each query: tokens x numbers. Queries of the same length are encoded together."""
        texts = [_clean(text) for text in texts]
        with self._lock:
            sizes = [
                3 + len(ids) for ids in self._queries.tok(texts, add_special_tokens=False, verbose=False).input_ids
            ]
            if max(sizes) > self._longest_query and not self._has_cut:
                self._has_cut = True
                logger.warning(
                    "a query of %d tokens is cut to %d, its end is not searched: query_maxlen can be raised",
                    max(sizes),
                    self._longest_query,
                )
            rows: dict[int, list[int]] = {}
            for row, size in enumerate(sizes):
                rows.setdefault(min(max(size, self._query), self._longest_query), []).append(row)
            inputs = []
            for length, some in rows.items():
                self._queries.query_maxlen = length
                inputs.append((some, *self._queries.tensorize([texts[row] for row in some])))
        vectors: dict[int, torch.Tensor] = {}
        with self._running():
            for some, ids, mask in inputs:
                vectors |= zip(some, self._model.query(ids, mask).float(), strict=True)
        return [vectors[row] for row in range(len(texts))]

    def passages(self, texts: Sequence[str], batch_size: int) -> tuple[torch.Tensor, list[int]]:
        """The vectors of the passages' tokens, all in one table of half precision on the CPU; tokens per passage.

        The texts are encoded in the order of their lengths, for a batch takes as long as its longest text.
        """
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        parts: list[torch.Tensor] = [torch.empty(0)] * len(texts)
        for begin in range(0, len(order), batch_size):
            rows = order[begin : begin + batch_size]
            with self._lock:
                ids, mask = self._docs.tensorize([_clean(texts[row]) for row in rows])
            with self._running():
                vectors = self._model.doc(ids, mask, keep_dims=False)
            for row, part in zip(rows, vectors, strict=True):
                parts[row] = part
        return torch.cat(parts), [len(part) for part in parts]

    @contextmanager
    def _running(self) -> Iterator[None]:
        kind = self.device.type
        with torch.inference_mode(), torch.autocast(kind, enabled=kind == "cuda"):
            yield


class Codec(ResidualCodec):
    """colbert-ai's codec, on the CPU, where it needs no extensions; what takes long is done here, on the device."""

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
        if self.bucket_weights is not None:  # what each byte of a residual stands for
            numbers = self.bucket_weights[self.decompression_lookup_table[self.reversed_bit_map.long()].long()]
            self._numbers = numbers.to(device)

    @classmethod
    def load_from(cls, path: Path, bits: int, device: torch.device) -> "Codec":
        names = "centroids", "avg_residual", "buckets"
        return cls(bits, device, **{name: load(path / f"{name}.pt") for name in names})

    def compress_into_codes(self, embs: torch.Tensor, out_device: object = None) -> torch.Tensor:
        """The nearest centroids of vectors, on the CPU."""
        centroids = self.on_device
        parts = embs.split(max(1, 2**27 // len(centroids)))
        return torch.cat([(part.to(centroids) @ centroids.T).argmax(1).cpu() for part in parts])

    def vectors(self, codes: NDArray[Any], residuals: NDArray[Any]) -> torch.Tensor:
        """The vectors that codes and residuals stand for, on the device."""
        of, packed = torch.from_numpy(codes).to(self.device), torch.from_numpy(residuals).to(self.device, torch.int32)
        vectors = torch.nn.functional.embedding(packed, self._numbers).flatten(1)
        vectors += self.on_device.index_select(0, of)
        return torch.nn.functional.normalize(vectors, dim=-1, out=vectors)


class Corpus(Lines):
    """The passages of an index of ours."""

    def passage(self, row: int, score: float | None = None) -> Passage:
        return from_line(self[row], score)


def directory_of(checkpoint: str | Path) -> Path:
    """The directory of a checkpoint, fetched from the hub or out of its cache if it is a name there."""
    if Path(checkpoint).is_dir():
        return Path(checkpoint).resolve()
    try:
        return Path(snapshot_download(str(checkpoint), ignore_patterns="*.onnx"))
    except (OSError, HFValidationError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UsageError(f"there is no ColBERT checkpoint {checkpoint}, here or on the hub: {reason}") from error


def device_of(name: str | None) -> torch.device:
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError as error:
        raise UsageError(f"unknown device {name!r}: use cpu, cuda or cuda:N") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("torch finds no GPU here: use the device cpu")
    return device


def _clean(text: str) -> str:
    """Without lone surrogates, which tokenizers refuse and LMs now and then write."""
    return text.encode("utf-8", "replace").decode()


def load(path: Path) -> Any:
    return torch.load(path, map_location="cpu", mmap=True, weights_only=True)


def doclens(path: Path, n: int) -> NDArray[np.int64]:
    return np.array(json.loads((path / f"doclens.{n}.json").read_bytes()), np.int64)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file that is there as a whole or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with unfinished.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
