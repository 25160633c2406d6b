"""The encoders of dense retrieval: sentence-transformers models that turn queries and passages into vectors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from odqa.errors import RetrievalError, UsageError
from odqa.files import undamaged
from retrieval.indexes import read_array
from retrieval.models import import_package, loading, refuse_code, same_vectors, without_surrogates
from retrieval.passage import Passage

__all__ = ["PRESETS", "PROBE", "Encoder", "LoadedEncoder", "encoder_of_index", "same_probe"]

PROBE = "probe.npy"
"""The file of an index with the vectors of `LoadedEncoder.probe`."""

_PROBE_TEXT = "The quick brown fox jumps over the lazy dog."


@dataclass(frozen=True)
class Encoder:
    """How texts become vectors; stored with the index, so queries are always encoded as its passages were.

    Attributes:
        model: Directory or hub name of a sentence-transformers model, or of a plain transformer.
        pooling: How a plain transformer's token vectors become one; None leaves it to the model's own configuration,
            which is the mean where it has none.
        normalize: Scale vectors to length 1, so that inner products are cosines. Models that do this themselves do not
            need it.
        query_prefix: Text put in front of queries, such as "query: " for E5; None for the model's own prompt, if any.
        passage_prefix: Likewise for passages.
    """

    model: str
    pooling: Literal["mean", "cls"] | None = None
    normalize: bool = False
    query_prefix: str | None = None
    passage_prefix: str | None = None

    @classmethod
    def named(cls, name: "str | Encoder") -> "Encoder":
        """The encoder of a preset, of a model by its directory or hub name, or the encoder itself.

        The path of a model's directory is made absolute, to be found from any working directory.
        """
        encoder = name if isinstance(name, Encoder) else PRESETS.get(name) or cls(name)
        path = Path(encoder.model)
        return replace(encoder, model=str(path.resolve())) if path.is_dir() else encoder


PRESETS = {
    "sbert": Encoder("sentence-transformers/msmarco-distilbert-base-tas-b"),
    "ance": Encoder("sentence-transformers/msmarco-roberta-base-ance-firstp"),
    "contriever": Encoder("facebook/contriever", pooling="mean"),
}
"""The retrievers of QPaug (section 4): the checkpoints its released code names, all by plain inner product."""


class LoadedEncoder:
    """An encoder with its model in memory. Safe for many threads.

    Args:
        encoder: What is loaded.
        device: See `retrieval.dense.Dense`.
        trusted: Whether the caller named the model. One that an index alone names may run no code of its own.

    Raises:
        UsageError: the extra is not installed, the model cannot be loaded, or it would run code and is not trusted.
    """

    def __init__(self, encoder: Encoder, device: str | None, *, trusted: bool = True) -> None:
        library = import_package("sentence_transformers")
        if not trusted:
            refuse_code(encoder.model)
        self.encoder, self.device = encoder, device
        with loading(encoder.model):
            if encoder.pooling:
                modules = import_package("sentence_transformers.sentence_transformer.modules")
                asked = {f"{part}_kwargs": {"trust_remote_code": False} for part in ("model", "processor", "config")}
                words = modules.Transformer(encoder.model, **asked)  # else transformers asks on the terminal
                pooling = modules.Pooling(words.get_embedding_dimension(), encoder.pooling)
                self._model = library.SentenceTransformer(modules=[words, pooling], device=device)
            else:
                self._model = library.SentenceTransformer(encoder.model, device=device)
        self._lock = Lock()  # tokenizers are not for several threads at once

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per query."""
        return self._encode(self._model.encode_query, texts, self.encoder.query_prefix, 32)

    def encode_passages(self, passages: Sequence[Passage], batch_size: int) -> NDArray[np.float32]:
        """One row per passage."""
        texts = [f"{passage.title} {passage.text}".strip() for passage in passages]
        return self._encode(self._model.encode_document, texts, self.encoder.passage_prefix, batch_size)

    def probe(self) -> NDArray[np.float32]:
        """The vectors of a fixed text, as a query and as a passage. They tell whether a model is the same as before."""
        return np.concatenate([self.encode_queries([_PROBE_TEXT]), self.encode_passages([Passage("", _PROBE_TEXT)], 1)])

    def _encode(
        self, encode: Callable[..., Any], texts: Sequence[str], prefix: str | None, batch_size: int
    ) -> NDArray[np.float32]:
        with self._lock:
            found = encode(
                [without_surrogates(text) for text in texts],
                prompt=prefix,
                batch_size=batch_size,
                normalize_embeddings=self.encoder.normalize,
                show_progress_bar=False,
            )
        vectors = np.ascontiguousarray(found, np.float32)
        if not np.isfinite(vectors).all():
            raise RetrievalError(f"the model {self.encoder.model!r} makes vectors with values that are no numbers")
        return vectors


def encoder_of_index(
    file: Path, description: Mapping[str, Any], model: str | None, device: str | None
) -> tuple[LoadedEncoder, int]:
    """Load what the passages of an index were encoded with; gives too how many numbers its vectors have.

    Args:
        file: The file that describes the index; the probe stands beside it.
        description: What the file says.
        model: Where its model is, if not where it was.
        device: See `retrieval.dense.Dense`.

    Raises:
        UsageError: the model cannot be loaded, is another one, or is named by the index alone and would run code.
        RetrievalError: the description or the probe is damaged.
    """
    with undamaged(file):
        encoder = Encoder(**description["encoder"])
    loaded = LoadedEncoder(replace(encoder, model=model or encoder.model), device, trusted=model is not None)
    probe = loaded.probe()
    if not same_probe(file.with_name(PROBE), probe):
        raise UsageError(
            f"the model {loaded.encoder.model!r} is not the one that the passages in {file.parent} were encoded with: "
            "open the index with that model, or build it again"
        )
    return loaded, int(probe.shape[1])


def same_probe(path: Path, probe: NDArray[np.float32]) -> bool:
    """Whether there is a probe in the file `path` that equals this one, up to differences between machines.

    Raises:
        RetrievalError: the file is damaged.
    """
    with undamaged(path):
        return path.exists() and same_vectors(read_array(path), probe)
