"""Dense retrieval: passages and queries as vectors of a sentence-transformers model, searched with FAISS.

    DIR/dense.json                what the index is: format, encoder, kind, size of each file; written last
        corpus.jsonl …            the passages
        probe.npy                 what the encoder made of a fixed text, as a query and as a passage
        vectors.npy               exact: the passages' vectors, one row each
        vectors.faiss             approximate: the same vectors in a graph

Exact search compares the query with every vector. Approximate search follows a graph of neighbours (FAISS's HNSW) from
candidate to better candidate: few passages are missed, and its time hardly grows with the corpus. Either is
memory-mapped, and the score is the inner product.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from retrieval.base import Retriever
from retrieval.errors import RetrievalError, UsageError
from retrieval.files import (
    CORPUS,
    Lines,
    LineWriter,
    checked,
    from_line,
    locked,
    publish,
    read_about,
    to_line,
    write_about,
)
from retrieval.models import loading, package, readable
from retrieval.passage import Passage

__all__ = ["PRESETS", "Dense", "Encoder"]

_ABOUT = "dense.json"
_FORMAT = 1
_VECTORS = "vectors.npy"
_GRAPH = "vectors.faiss"
_PROBE = "probe.npy"
_PROBE_TEXT = "The quick brown fox jumps over the lazy dog."
_SHARD = 1024  # passages encoded between two points at which a build can be taken up again
_LINKS = 32  # of a vector in the graph, to each side
_BUILD_CANDIDATES = 200  # looked at for the links of a vector
_BLOCK = 1 << 16  # vectors put into the graph at a time


@dataclass(frozen=True)
class Encoder:
    """How texts become vectors; stored with the index, so queries are always encoded as its passages were.

    Attributes:
        model: Directory or hub name of a sentence-transformers model, or of a plain transformer.
        pooling: How a plain transformer's token vectors become one; None leaves it to the model's own configuration,
            which is the mean where it has none.
        normalize: Bring vectors to length 1, so that inner products are cosines. Models that do so themselves do not
            need it.
        query_prefix: Text put in front of queries, such as "query: " for E5; None for the model's own prompt, if any.
        passage_prefix: Likewise for passages.
    """

    model: str
    pooling: Literal["mean", "cls"] | None = None
    normalize: bool = False
    query_prefix: str | None = None
    passage_prefix: str | None = None


PRESETS = {
    "sbert": Encoder("sentence-transformers/msmarco-distilbert-base-tas-b"),
    "ance": Encoder("sentence-transformers/msmarco-roberta-base-ance-firstp"),
    "contriever": Encoder("facebook/contriever", pooling="mean"),
}
"""The retrievers of QPaug (section 4): the checkpoints its released code names, all by plain inner product."""


class Dense(Retriever):
    """Searches an index that `Dense.build` made. Safe for many threads; the vectors stay on disk.

    Args:
        path: Directory of the index.
        model: Where the encoder's model is now, if it is not where it was when the index was built; it must still be
            the same model.
        candidates: For an approximate index, how many passages a search keeps in view on its way: more miss less and
            take longer. At least as many as are asked for.
        device: Where to encode queries, such as "cpu" or "cuda:1"; by default the best one there is.

    Raises:
        UsageError: the extra is not installed, `path` holds no finished index or one of another format, or the model
            cannot be loaded or is not the one that the passages were encoded with.
        RetrievalError: the index is damaged.
    """

    def __init__(
        self, path: str | Path, *, model: str | None = None, candidates: int = 128, device: str | None = None
    ) -> None:
        if candidates < 1:
            raise UsageError(f"a search must keep at least 1 candidate in view, not {candidates}")
        self._faiss = package("faiss")
        self.path = Path(path)
        about = read_about(self.path, _ABOUT, "dense", _FORMAT)
        self.encoder = Encoder(**about["encoder"])
        self._passages = Lines(self.path / CORPUS)
        if about["approximate"]:
            self._graph = self._faiss.read_index(str(self.path / _GRAPH), self._faiss.IO_FLAG_MMAP_IFC)
            self._parameters = self._faiss.SearchParametersHNSW(efSearch=candidates)
        else:
            self._graph = None
            self._vectors = np.load(self.path / _VECTORS, mmap_mode="r")
        self._model = _Model(replace(self.encoder, model=model or self.encoder.model), device)
        if not _same(self.path / _PROBE, self._model.probe()):
            raise UsageError(
                f"the model {model or self.encoder.model!r} is not the one that the passages in {path} were encoded "
                "with: open the index with that model, or build it again"
            )

    def __len__(self) -> int:
        return len(self._passages)

    def passage(self, row: int) -> Passage:
        """The passage in that row of the corpus, counted from 0."""
        return from_line(self._passages[row])

    def search(self, query: str, k: int) -> list[Passage]:
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        vectors = self._model.queries(queries)
        k = min(k, len(self))
        if self._graph is None:
            scores, rows = self._faiss.knn(vectors, self._vectors, k, self._faiss.METRIC_INNER_PRODUCT)
        else:
            scores, rows = self._graph.search(vectors, k, params=self._parameters)
        # Where the way through the graph has met fewer than k vectors, FAISS fills up with row -1.
        return [
            [from_line(self._passages[row], float(score)) for row, score in zip(*found, strict=True) if row >= 0]
            for found in zip(rows, scores, strict=True)
        ]

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        out: str | Path,
        *,
        encoder: str | Encoder,
        approximate: bool = False,
        batch_size: int = 32,
        resume: bool = True,
        overwrite: bool = False,
        device: str | None = None,
    ) -> "Dense":
        """Encode passages, title and text together, and open the index.

        The passages are read and encoded as a stream, and only their ids are held in memory. The index appears in
        `out` only when it is whole. Until then the work is in `OUT.building`, which an unfinished build leaves
        behind: the next one, given the same passages and encoder, encodes only what is not there yet.

        Args:
            passages: Any iterable; ids must differ and texts must not be blank.
            out: Directory to make; its parents are made too.
            encoder: A key of `PRESETS`, the directory or hub name of a model, or an `Encoder`.
            approximate: Link the vectors to a graph, for corpora of millions of passages. That alone holds all vectors
                in memory, in 4 bytes a number, and takes one to two milliseconds of one core for each.
            batch_size: Passages encoded at a time.
            resume: Use what an unfinished build left behind; otherwise that is deleted.
            overwrite: Replace an index that is already in `out`.
            device: Where to encode, such as "cpu" or "cuda:1"; by default the best one there is.

        Raises:
            UsageError: the extra is not installed, the model cannot be loaded, a passage is unfit, there is none, the
                batch size is below 1, `out` exists, or it is being built at this moment.
        """
        out = Path(out)
        if out.exists() and not overwrite:
            raise UsageError(f"{out} exists: choose another directory, or ask to overwrite it")
        if out.exists() and not (out / _ABOUT).is_file():
            raise UsageError(f"{out} exists and is no dense index, so it is not overwritten: choose another directory")
        if batch_size < 1:
            raise UsageError(f"passages are encoded in batches of at least 1, not {batch_size}")
        model = _Model(_encoder(encoder), device)
        work = out.with_name(f"{out.name}.building")
        shards, index = work / "shards", work / "index"
        work.mkdir(parents=True, exist_ok=True)
        with locked(work / "lock", f"{work} is in use: another process is building that index"):
            probe = model.probe()
            if not (resume and _same(work / _PROBE, probe)):
                shutil.rmtree(shards, ignore_errors=True)
            shutil.rmtree(index, ignore_errors=True)
            shards.mkdir(exist_ok=True)
            index.mkdir()
            np.save(work / _PROBE, probe)
            np.save(index / _PROBE, probe)
            files = _encode(checked(passages), index / CORPUS, shards, model, batch_size)
            _join(files, index / _VECTORS)
            if approximate:
                _link(index)
            about = {"format": _FORMAT, "approximate": approximate, "encoder": asdict(model.encoder)}
            write_about(index, _ABOUT, about)
            publish(index, out)
        shutil.rmtree(work)
        return cls(out, device=device)


class _Model:
    """An encoder, loaded. Safe for many threads."""

    def __init__(self, encoder: Encoder, device: str | None) -> None:
        library = package("sentence_transformers")
        self.encoder = encoder
        with loading(encoder.model):
            if encoder.pooling:
                modules = package("sentence_transformers.sentence_transformer.modules")
                words = modules.Transformer(encoder.model)
                pooling = modules.Pooling(words.get_embedding_dimension(), encoder.pooling)
                self._model = library.SentenceTransformer(modules=[words, pooling], device=device)
            else:
                self._model = library.SentenceTransformer(encoder.model, device=device)
        self._lock = Lock()  # tokenizers are not for several threads at once

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per query."""
        return self._encode(self._model.encode_query, texts, self.encoder.query_prefix, 32)

    def passages(self, passages: Sequence[Passage], batch_size: int) -> NDArray[np.float32]:
        """One row per passage."""
        texts = [f"{passage.title} {passage.text}".strip() for passage in passages]
        return self._encode(self._model.encode_document, texts, self.encoder.passage_prefix, batch_size)

    def probe(self) -> NDArray[np.float32]:
        """What becomes of a fixed text, as a query and as a passage: by that a model is known again."""
        return np.concatenate([self.queries([_PROBE_TEXT]), self.passages([Passage("", _PROBE_TEXT)], 1)])

    def _encode(
        self, encode: Callable[..., Any], texts: Sequence[str], prefix: str | None, batch_size: int
    ) -> NDArray[np.float32]:
        with self._lock:
            found = encode(
                [readable(text) for text in texts],
                prompt=prefix,
                batch_size=batch_size,
                normalize_embeddings=self.encoder.normalize,
                show_progress_bar=False,
            )
        vectors = np.ascontiguousarray(found, np.float32)
        if not np.isfinite(vectors).all():
            raise RetrievalError(f"the model {self.encoder.model!r} makes vectors with values that are no numbers")
        return vectors


def _encoder(encoder: str | Encoder) -> Encoder:
    """The encoder of that name; a path is made absolute, for the index will be opened from elsewhere."""
    if isinstance(encoder, str):
        encoder = PRESETS.get(encoder) or Encoder(encoder)
    return replace(encoder, model=str(Path(encoder.model).resolve())) if Path(encoder.model).is_dir() else encoder


def _same(path: Path, probe: NDArray[np.float32]) -> bool:
    """Whether the probe at `path`, if there is one, is the same but for what machines and batches differ in."""
    if not path.exists():
        return False
    known = np.load(path)
    return known.shape == probe.shape and bool(np.linalg.norm(known - probe) < 0.02 * np.linalg.norm(known))


def _encode(passages: Iterator[Passage], corpus: Path, shards: Path, model: _Model, batch_size: int) -> list[Path]:
    """Write the corpus, and the vectors of every `_SHARD` passages in a file named after them unless it is there."""
    files = []
    with LineWriter(corpus) as lines:
        while part := list(islice(passages, _SHARD)):
            written = [to_line(passage) for passage in part]
            for line in written:
                lines.write(line)
            file = shards / f"{hashlib.sha256(b''.join(written)).hexdigest()}.npy"
            if not file.exists():
                unfinished = file.with_suffix(".unfinished.npy")
                np.save(unfinished, model.passages(part, batch_size))
                unfinished.rename(file)
            files.append(file)
    if not files:
        raise UsageError("there is nothing to index: the corpus has no passages")
    return files


def _join(files: Sequence[Path], out: Path) -> None:
    shapes = [np.load(file, mmap_mode="r").shape for file in files]
    size = sum(rows for rows, _ in shapes)
    vectors = np.lib.format.open_memmap(out, "w+", np.dtype(np.float32), (size, shapes[0][1]))
    row = 0
    for file, (rows, _) in zip(files, shapes, strict=True):
        vectors[row : row + rows] = np.load(file)
        row += rows


def _link(index: Path) -> None:
    """Turn the vectors of an exact index into a graph."""
    faiss = package("faiss")
    vectors = np.load(index / _VECTORS, mmap_mode="r")
    graph = faiss.IndexHNSWFlat(vectors.shape[1], _LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = _BUILD_CANDIDATES
    for begin in range(0, len(vectors), _BLOCK):
        graph.add(vectors[begin : begin + _BLOCK])
    faiss.write_index(graph, str(index / _GRAPH))
    (index / _VECTORS).unlink()
