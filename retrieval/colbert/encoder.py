"""ColBERT checkpoints: texts in, one vector per token out."""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odqa.errors import UsageError
from retrieval.colbert.libraries import (
    ColBERTConfig,
    DocTokenizer,
    HFValidationError,
    Model,
    QueryTokenizer,
    class_factory,
    snapshot_download,
    torch,
)
from retrieval.known_item import is_checking
from retrieval.models import in_one_line, without_surrogates

__all__ = ["Checkpoint", "find_device"]

logger = logging.getLogger(__name__)

_PROBE_TEXT = "The quick brown fox jumps over the lazy dog."


class Checkpoint:
    """A ColBERT checkpoint: texts in, a unit vector per token out. Safe for many threads.

    Args:
        checkpoint: Its directory or Hugging Face name; it is downloaded unless it is in the cache.
        longest_query: Tokens at which a query is cut; by default the length that shorter ones are filled up to.
        trusted: Whether code that the checkpoint brings may be run, as colbert-ai always does.
        settings: Settings of colbert-ai's `ColBERTConfig`, in place of the checkpoint's own.

    Attributes:
        name: The checkpoint, found from any working directory.
        dim: Numbers of a vector.

    Raises:
        UsageError: the checkpoint cannot be found or loaded, brings code and is not trusted, or a length is out of
            range.
    """

    def __init__(
        self,
        checkpoint: str | Path,
        device: torch.device,
        *,
        longest_query: int | None = None,
        trusted: bool = True,
        **settings: Any,
    ) -> None:
        self.name, checkpoint = _find(checkpoint)
        self.path, self.device = checkpoint, device
        if not all((checkpoint / name).is_file() for name in ("artifact.metadata", "config.json")):
            raise UsageError(f"{checkpoint} is no ColBERT checkpoint: it needs an artifact.metadata and a config.json")
        if not trusted:
            _refuse_code(checkpoint)
        with in_one_line(f"cannot load the ColBERT checkpoint {checkpoint}"):
            config = ColBERTConfig.load_from_checkpoint(str(checkpoint))
            config.configure(**settings, checkpoint=str(checkpoint), model_name=None)
            # As if there were a GPU: colbert-ai then compiles nothing, and gives vectors of half precision.
            config.total_visible_gpus = 1
            class_factory(str(checkpoint))  # where this fails, colbert-ai would fetch another model from the hub
            self._model = Model(str(checkpoint), config).to(self.device)
            self._queries, self._docs = QueryTokenizer(config, verbose=0), DocTokenizer(config)
        self.dim: int = config.dim
        self._longest_query: int = config.query_maxlen if longest_query is None else longest_query
        self._query = min(config.query_maxlen, self._longest_query)
        longest = self._model.bert.config.max_position_embeddings
        for setting, value in ("query_maxlen", self._longest_query), ("doc_maxlen", config.doc_maxlen):
            if not 4 <= value <= longest:
                raise UsageError(f"{setting} must be from 4 to {longest}, not {value}")
        self._lock = Lock()  # tokenizers are not for several threads at once
        self._has_cut = False

    def encode_queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """The vectors of each query: tokens x numbers. Queries of the same length are encoded together."""
        texts = [without_surrogates(text) for text in texts]
        with self._lock:
            sizes = [
                3 + len(ids) for ids in self._queries.tok(texts, add_special_tokens=False, verbose=False).input_ids
            ]
            if max(sizes) > self._longest_query and not (self._has_cut or is_checking()):
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
        vectors: dict[int, NDArray[np.float32]] = {}
        with self._running():
            for some, ids, mask in inputs:
                vectors |= zip(some, self._model.query(ids, mask).float().cpu().numpy(), strict=True)
        return [vectors[row] for row in range(len(texts))]

    def encode_passages(self, texts: Sequence[str], batch_size: int) -> tuple[torch.Tensor, list[int]]:
        """The vectors of all tokens in one table, of half precision, on the CPU; and the number of tokens per passage.

        The texts are encoded in the order of their lengths, because a batch takes as long as its longest text.
        """
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
        parts: list[torch.Tensor] = [torch.empty(0)] * len(texts)
        for begin in range(0, len(order), batch_size):
            rows = order[begin : begin + batch_size]
            with self._lock:
                ids, mask = self._docs.tensorize([without_surrogates(texts[row]) for row in rows])
            with self._running():
                vectors = self._model.doc(ids, mask, keep_dims=False)
            for row, part in zip(rows, vectors, strict=True):
                parts[row] = part
        return torch.cat(parts), [len(part) for part in parts]

    def probe(self) -> NDArray[np.float32]:
        """The means of the vectors of a fixed text, as a query and as a passage. They tell whether a checkpoint is the
        same as before."""
        (query,), (passage, _) = self.encode_queries([_PROBE_TEXT]), self.encode_passages([_PROBE_TEXT], 1)
        return np.concatenate([query.mean(0), passage.float().numpy().mean(0)])

    @contextmanager
    def _running(self) -> Iterator[None]:
        kind = self.device.type
        with torch.inference_mode(), torch.autocast(kind, enabled=kind == "cuda"):
            yield


def _refuse_code(checkpoint: Path) -> None:
    """Refuse a checkpoint with classes of its own: colbert-ai runs a model's unasked, and asks about a tokenizer's."""
    with in_one_line(f"cannot load the ColBERT checkpoint {checkpoint}"):
        files = [json.loads(file.read_bytes()) for file in sorted(checkpoint.glob("*config.json"))]
    if any("auto_map" in found for found in files if isinstance(found, dict)):
        raise UsageError(
            f"the index names the checkpoint {checkpoint}, which brings code of its own: if you trust it, name it "
            "as `checkpoint` when you open the index"
        )


def _find(checkpoint: str | Path) -> tuple[str, Path]:
    """The name by which a checkpoint is found from any working directory, and its directory."""
    if Path(checkpoint).is_dir():
        directory = Path(checkpoint).resolve()
        return str(directory), directory
    try:
        return str(checkpoint), Path(snapshot_download(str(checkpoint), ignore_patterns="*.onnx"))
    except (OSError, HFValidationError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UsageError(f"there is no ColBERT checkpoint {checkpoint}, here or on the hub: {reason}") from error


def find_device(name: str | None) -> torch.device:
    """The device of that name; by default a GPU if there is one.

    Raises:
        UsageError: there is no such device.
    """
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError as error:
        raise UsageError(f"unknown device {name!r}: use cpu, cuda or cuda:N") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("torch finds no GPU here: use the device cpu")
    return device
