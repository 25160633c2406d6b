"""ColBERT: each token of a query looks for its best match among the tokens of a passage, in a PLAID index on disk.

Built on colbert-ai: its checkpoints, its codec and its index format, so that its own `Searcher` opens our indexes and
we open its. The search is PLAID's, done with NumPy and torch: on one core it takes as long as colbert-ai's C++
extensions, it is the same on a GPU, and nothing is ever compiled.

    DIR/colbert.json              what the index is, and the size of each file; written last
        metadata.json             the same for colbert-ai
        centroids.pt, buckets.pt, avg_residual.pt
                                  the codec: a vector is its nearest centroid and a residual of few bits per number
        N.codes.pt, N.residuals.pt, doclens.N.json, N.metadata.json
                                  chunk N of the passages: centroids and residuals of the tokens, tokens per passage
        ivf.pid.pt                centroid -> the passages with a token there
        corpus.jsonl …            the passages

An index that colbert-ai made has neither colbert.json nor passages: those are in a `collection.tsv`.

Papers: Khattab and Zaharia 2020 (ColBERT); Santhanam et al. 2022 (ColBERTv2, the codec) and 2022 (PLAID, the search).
"""

import hashlib
import json
import logging
import math
import mmap
import multiprocessing
import os
import pickle
import random
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from retrieval._store import (
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
from retrieval.base import Retriever
from retrieval.errors import RetrievalError, UsageError
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

__all__ = ["ColBERT"]

Progress = Callable[..., Iterable[Any]]

_ABOUT, _METADATA, _IVF = "colbert.json", "metadata.json", "ivf.pid.pt"
_FORMAT = 1
_CHUNK = 25_000  # passages in a file, colbert-ai's number
_PART = 1000  # passages encoded between two steps of the progress; divides the chunk
_BATCH = 32  # queries encoded at a time
_PUBLISHED = {"colbertv2.0": "colbert-ir/colbertv2.0"}  # what indexes call it on the machines that made them -> the hub
_OF_QUERIES = "query_maxlen", "attend_to_mask_tokens", "query_token_id", "query_token"  # settings that indexes keep
_DAMAGE = OSError, RuntimeError, ValueError, LookupError, TypeError, EOFError, pickle.UnpicklingError

logger = logging.getLogger(__name__)


class ColBERT(Retriever):
    """Searches an index that `ColBERT.build` or colbert-ai made, with MaxSim scores.

    Residuals, codes, inverted lists and passages are memory-mapped: what is held in memory are the centroids, the
    checkpoint and 16 bytes per passage. Threads may share one object.

    A query is filled up with [MASK] to the length that the checkpoint was trained with, 32 tokens for ColBERTv2: the
    masks take part in the search, which is ColBERT's query augmentation. A longer query is cut at `query_maxlen`, and
    that is 32 too unless it is raised, as on the servers that the papers used. So a query that carries more than a
    question, and in front of it (BlendFilter's do), loses its question: a warning is logged when the first query is
    cut. Where `query_maxlen` is higher, longer queries are searched as they are, in time that grows with their length,
    and short ones as before.

    Args:
        path: Directory of the index. Of the published index of the Wikipedia 2017 abstracts it is the folder
            ``wiki17.nbits.local``, as downloaded.
        checkpoint: Directory or Hugging Face name of the ColBERT checkpoint that the index was built with; by default
            the one that the index names. Checkpoints may bring code, which colbert-ai runs: use those you trust.
        collection: The passages of an index that colbert-ai made, a line ``number<TAB>title | text`` each, numbered
            from 0, which become their ids; by default the file that the index names, or one of that name in `path`,
            in the directory above, or where the published index has it.
        device: Such as "cpu" or "cuda:1"; by default a GPU if there is one.
        query_maxlen: Tokens at which a query is cut, 3 of them special; by default the length that shorter ones are
            filled up to.
        ncells: Centroids per query token whose passages are candidates.
        centroid_score_threshold: Cosine below which a centroid does not count in the first ranking of candidates.
        ndocs: Candidates left by the first ranking. A quarter of them are left by the second, which counts all
            centroids, and are scored: no search finds more than that.
            The defaults of these three are PLAID's: 1, 0.5, 256 for k up to 10; 2, 0.45, 1024 for k up to 100; beyond,
            4, 0.4 and 4 k, but at least 4096.

    Raises:
        UsageError: there is no finished index in `path`, its checkpoint or passages cannot be found, or a setting is
            out of range.
        RetrievalError: the index is damaged.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        checkpoint: str | Path | None = None,
        collection: str | Path | None = None,
        device: str | None = None,
        query_maxlen: int | None = None,
        ncells: int | None = None,
        centroid_score_threshold: float | None = None,
        ndocs: int | None = None,
    ) -> None:
        if (ncells is not None and ncells < 1) or (ndocs is not None and ndocs < 4):
            raise UsageError(f"ncells must be at least 1 and ndocs at least 4, not {ncells} and {ndocs}")
        self.path = Path(path)
        self._ncells, self._threshold, self._ndocs = ncells, centroid_score_threshold, ndocs
        on = _device(device)
        config, chunks = _described(self.path)
        self._passages = _passages(self.path, config, collection)
        with _whole(self.path):
            self._codec = _Codec.load_from(self.path, config["nbits"], on)
            self._codes = [_load(self.path / f"{n}.codes.pt").numpy() for n in range(chunks)]
            self._residuals = [_load(self.path / f"{n}.residuals.pt").numpy() for n in range(chunks)]
            lengths = [_doclens(self.path, n) for n in range(chunks)]
            self._firsts = np.cumsum([0, *map(len, lengths)])  # first passage of each chunk
            self._begins = np.concatenate([np.cumsum(part) - part for part in lengths])  # within the chunk
            self._lengths = np.concatenate(lengths)
            ivf, sizes = _load(self.path / _IVF)
            self._ivf, self._cells = ivf.numpy(), np.cumsum([0, *sizes.tolist()])
            if [len(codes) for codes in self._codes] != [part.sum() for part in lengths]:
                raise ValueError("its files do not fit together")
        if len(self._passages) != len(self):
            raise UsageError(
                f"the index in {self.path} has {len(self):,} passages, its collection {len(self._passages):,}: "
                "name the collection that it was built from"
            )
        settings = {name: config[name] for name in _OF_QUERIES if config.get(name) is not None}
        found = _directory(checkpoint or _moved(config.get("checkpoint")))
        self._encoder = _Encoder(found, on, longest_query=query_maxlen, **settings)
        if self._codec.dim != self._encoder.dim:
            raise UsageError(
                f"{self.path} has vectors of {self._codec.dim} numbers, the checkpoint makes {self._encoder.dim}: "
                "name the checkpoint that the index was built with"
            )

    def __len__(self) -> int:
        return len(self._lengths)

    def passage(self, row: int) -> Passage:
        """The passage in that row of the corpus, counted from 0."""
        return self._passages.passage(row)

    def search(self, query: str, k: int) -> list[Passage]:
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        batches = [queries[n : n + _BATCH] for n in range(0, len(queries), _BATCH)]
        return [self._search(vectors, k) for batch in batches for vectors in self._encoder.queries(batch)]

    def _search(self, query: torch.Tensor, k: int) -> list[Passage]:
        """PLAID: candidates by their centroids, ranked by their centroids twice, the best of them by their vectors.

        Args:
            query: The vectors of the query's tokens.
        """
        default = (1, 0.5, 256) if k <= 10 else (2, 0.45, 1024) if k <= 100 else (4, 0.4, max(4 * k, 4096))
        ncells, ndocs = self._ncells or default[0], self._ndocs or default[2]
        threshold = default[1] if self._threshold is None else self._threshold
        with torch.inference_mode():
            nearness = self._codec.on_device @ query.T  # centroids x tokens
            cells = nearness.T.contiguous().topk(min(ncells, len(nearness))).indices.unique().tolist()
            rows = np.unique(np.concatenate([self._ivf[self._cells[c] : self._cells[c + 1]] for c in cells]))
            if not len(rows):
                return []
            rows = self._nearest(rows, nearness, ndocs, near=(nearness.amax(1) >= threshold).cpu().numpy())
            rows = self._nearest(rows, nearness, ndocs // 4)
            vectors = self._codec.vectors(self._gather(self._codes, rows), self._gather(self._residuals, rows))
            scores = _maxsim(vectors @ query.T, self._lengths[rows])
            best = scores.sort(descending=True, stable=True)
            found = zip(rows[best.indices[:k].cpu().numpy()].tolist(), best.values[:k].tolist(), strict=True)
        return [self._passages.passage(row, score) for row, score in found]

    def _nearest(
        self, rows: NDArray[Any], nearness: torch.Tensor, limit: int, near: NDArray[np.bool_] | None = None
    ) -> NDArray[Any]:
        """The at most `limit` passages with the highest MaxSim, each token taken for its centroid, in order of rows.

        Args:
            rows: The passages.
            nearness: Cosine of each centroid and each token of the query.
            limit: How many.
            near: Whether a centroid counts; by default all do.
        """
        if len(rows) <= limit:
            return rows
        codes, lengths = self._gather(self._codes, rows), self._lengths[rows]
        if near is not None:
            kept = np.flatnonzero(near.take(codes))
            codes, lengths = codes[kept], np.diff(np.searchsorted(kept, np.cumsum(lengths)), prepend=0)
        scores = _maxsim(nearness.index_select(0, torch.from_numpy(codes).to(nearness.device)), lengths)
        best: NDArray[np.int64] = scores.topk(limit).indices.sort().values.cpu().numpy()
        return rows[best]

    def _gather(self, chunks: Sequence[NDArray[Any]], rows: NDArray[Any]) -> NDArray[Any]:
        """What the chunks hold for the tokens of some passages, one passage after the other."""
        where = np.searchsorted(self._firsts, rows, side="right") - 1
        begins = self._begins[rows]
        spans = zip(where.tolist(), begins.tolist(), (begins + self._lengths[rows]).tolist(), strict=True)
        found: NDArray[Any] = np.concatenate([chunks[chunk][begin:end] for chunk, begin, end in spans])
        return found

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        out: str | Path,
        *,
        checkpoint: str | Path,
        bits: int = 2,
        doc_maxlen: int = 220,
        kmeans_niters: int = 4,
        batch_size: int = 64,
        device: str | None = None,
        resume: bool = True,
        overwrite: bool = False,
        progress: Progress = lambda parts, desc: parts,
    ) -> "ColBERT":
        """Index passages, each as ``title | text``, and open the index.

        The passages are read as a stream, and only their ids are held in memory, and for a while the token vectors of
        the sample that the centroids are trained on: of all passages up to about 30,000, of 400,000 out of 5 million.

        The index appears in `out` only when it is whole. Until then the work is in `OUT.building`, which an unfinished
        build leaves behind: the next one, given the same passages and settings, goes on with it. What is encoded again
        are at most 1,000 passages of the sample, or a chunk of 25,000.

        Args:
            passages: Any iterable; ids must differ and texts must not be blank.
            out: Directory to make; its parents are made too.
            checkpoint: Directory or Hugging Face name of a ColBERT checkpoint; see `ColBERT` on trusting it.
            bits: Of the residual, for each number of a vector: 1, 2, 4 or 8.
            doc_maxlen: Tokens of a passage, 3 of them special; what is longer is cut off.
            kmeans_niters: Rounds of k-means for the centroids.
            batch_size: Passages encoded at a time.
            device: Such as "cpu" or "cuda:1"; by default a GPU if there is one. K-means runs there if FAISS can.
            resume: Go on with what an unfinished build left behind; otherwise that is deleted.
            overwrite: Replace an index that is already in `out`.
            progress: Called as ``tqdm(parts, desc="sampling")``, then "clustering" and "encoding", to go through parts.

        Raises:
            UsageError: a setting is out of range, the checkpoint cannot be loaded, a passage is unfit, there is none,
                `out` exists, it is being built at this moment, or the unfinished build is of something else.
        """
        out = Path(out)
        if out.exists() and not overwrite:
            raise UsageError(f"{out} exists: choose another directory, or ask to overwrite it")
        if out.exists() and not (out / _ABOUT).is_file():
            raise UsageError(f"{out} exists and is no ColBERT index of ours, it is not overwritten: choose another one")
        if bits not in (1, 2, 4, 8) or kmeans_niters < 1 or batch_size < 1:
            raise UsageError(
                "bits must be 1, 2, 4 or 8, and kmeans_niters and batch_size at least 1, "
                f"not {bits}, {kmeans_niters} and {batch_size}"
            )
        directory = _directory(checkpoint)
        encoder = _Encoder(directory, _device(device), doc_maxlen=doc_maxlen)
        if encoder.dim % (8 * bits):
            raise UsageError(f"vectors of {encoder.dim} numbers do not fit {bits} bits each: use fewer bits")
        name = str(directory) if Path(checkpoint).is_dir() else str(checkpoint)
        config = {"checkpoint": name, "dim": encoder.dim, "nbits": bits, "doc_maxlen": doc_maxlen}
        config |= {"kmeans_niters": kmeans_niters}
        work = _unfinished(out)
        work.mkdir(parents=True, exist_ok=True)
        with locked(work / "lock"):
            publish(_Builder(work, config, encoder, batch_size, progress).run(passages, resume), out)
        shutil.rmtree(work)
        return cls(out, device=device)


class _Encoder:
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
                    "a query of %d tokens is cut to %d, its end is not searched: see query_maxlen of ColBERT",
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


class _Codec(ResidualCodec):
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
    def load_from(cls, path: Path, bits: int, device: torch.device) -> "_Codec":
        names = "centroids", "avg_residual", "buckets"
        return cls(bits, device, **{name: _load(path / f"{name}.pt") for name in names})

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


class _Builder:
    """Makes the files of an index, those that are not there yet."""

    def __init__(
        self, work: Path, config: dict[str, Any], encoder: _Encoder, batch_size: int, progress: Progress
    ) -> None:
        self._out, self._settings, self._sample = work / "index", work / "settings.json", work / "sample"
        self._config, self._encoder = config, encoder
        self._batch_size, self._progress = batch_size, progress

    def run(self, passages: Iterable[Passage], resume: bool) -> Path:
        """Returns the directory of the finished index."""
        if not resume:
            for directory in self._out, self._sample:
                shutil.rmtree(directory, ignore_errors=True)
            self._settings.unlink(missing_ok=True)
        self._out.mkdir(exist_ok=True)
        self._sample.mkdir(exist_ok=True)
        about = {"format": _FORMAT, "config": self._config, "chunk": _CHUNK, "sha256": self._store(passages)}
        self._check(about)
        self._corpus = _Corpus(self._out / CORPUS)
        if not (self._out / "centroids.pt").is_file():
            self._train()
        self._codec = _Codec.load_from(self._out, self._config["nbits"], self._encoder.device)
        rows = range(len(self._corpus))
        chunks = [rows[begin : begin + _CHUNK] for begin in range(0, len(rows), _CHUNK)]
        missing = [n for n in range(len(chunks)) if not (self._out / f"{n}.metadata.json").is_file()]
        encoded = self._encoded([part for n in missing for part in _parts(chunks[n])], "encoding")
        for n in missing:
            self._compress(n, chunks[n], islice(encoded, len(_parts(chunks[n]))))
        next(encoded, None)  # or the progress would not see its end
        self._invert(chunks)
        write_about(self._out, _ABOUT, about)
        return self._out

    def _store(self, passages: Iterable[Passage]) -> str:
        """Write the passages down; returns a digest of them."""
        digest = hashlib.sha256()
        with LineWriter(self._out / CORPUS) as lines:
            for passage in checked(passages):
                try:
                    line = to_line(passage)
                except UnicodeEncodeError as error:
                    raise UsageError(f"passage {passage.id!r} is not valid Unicode: {error.reason}") from error
                lines.write(line)
                digest.update(line)
        if not (self._out / CORPUS).stat().st_size:
            raise UsageError("there is nothing to index: the corpus has no passages")
        return digest.hexdigest()

    def _check(self, about: dict[str, Any]) -> None:
        """See that what is there already is of the same passages, with the same settings."""
        if not self._settings.is_file():
            with _replacing(self._settings) as file:
                file.write(json.dumps(about).encode())
        elif json.loads(self._settings.read_bytes()) != about:
            raise UsageError(
                f"{self._settings.parent} has an unfinished build of other passages or with other settings: "
                "give those to go on with it, or build without resuming to throw it away"
            )

    def _train(self) -> None:
        """Get centroids from a sample of the passages, and from a part that is held out the residuals' buckets."""
        total, dim, bits = len(self._corpus), self._encoder.dim, self._config["nbits"]
        size = _sample_size(total)
        parts = _parts(sorted(random.Random(12345).sample(range(total), size)))
        missing = [part for part in parts if not self._kept(part).is_file()]
        for part, encoded in zip(missing, self._encoded(missing, "sampling"), strict=True):
            self._save(self._kept(part), encoded)
        vectors = torch.cat([_load(self._kept(part))[0] for part in parts])
        shuffled = torch.randperm(len(vectors), generator=torch.Generator().manual_seed(12345))
        held = max(1, min(len(vectors) // 20, 50_000, 2**24 // dim))  # quantile takes at most 2**24 values
        held_out = torch.zeros(len(vectors), dtype=torch.bool)
        held_out[shuffled[:held]] = True
        partitions = 2 ** int(math.log2(16 * math.sqrt(len(vectors) * total / size)))  # colbert-ai's rule
        kmeans = faiss.Kmeans(
            dim,
            min(partitions, len(vectors) - held),
            niter=self._config["kmeans_niters"],
            gpu=self._encoder.device.type == "cuda" and faiss.get_num_gpus() > 0,
            seed=123,
            min_points_per_centroid=1,  # or it writes to stderr that it would like more
        )
        for trained in self._progress([vectors[~held_out].float().numpy()], desc="clustering"):
            kmeans.train(trained)
        centroids = torch.nn.functional.normalize(torch.from_numpy(kmeans.centroids), dim=-1)
        rest = vectors[held_out].float()
        nearest = _Codec(bits, self._encoder.device, centroids=centroids).compress_into_codes(rest)
        residuals = rest - centroids[nearest]
        steps = torch.arange(2**bits) / 2**bits
        buckets = residuals.quantile(steps[1:]), residuals.quantile(steps + 0.5 / 2**bits)
        self._save(self._out / "avg_residual.pt", residuals.abs().mean())
        self._save(self._out / "buckets.pt", buckets)
        self._save(self._out / "centroids.pt", centroids.half())  # last: it tells that all three are there
        if size < total:
            shutil.rmtree(self._sample)

    def _kept(self, part: Sequence[int]) -> Path:
        """Where what was encoded of the sample is kept; a part without gaps is known by its ends and its size."""
        return self._sample / f"{part[0]}-{part[-1]}-{len(part)}.pt"

    def _encoded(self, parts: Sequence[Sequence[int]], stage: str) -> Iterator[tuple[torch.Tensor, list[int]]]:
        """For each part of the corpus its vectors and the number of them per passage, as from the encoder."""
        for part in self._progress(parts, desc=stage):
            if stage == "encoding" and self._kept(part).is_file():  # where the sample is the whole corpus
                yield _load(self._kept(part))
            else:
                passages = [self._corpus.passage(row, 0.0) for row in part]
                texts = [f"{p.title} | {p.text}" if p.title else p.text for p in passages]
                yield self._encoder.passages(texts, self._batch_size)

    def _compress(self, n: int, rows: range, encoded: Iterable[tuple[torch.Tensor, list[int]]]) -> None:
        """Write chunk `n`, the passages in `rows`."""
        packed, lengths = [], []
        for vectors, some in encoded:
            packed.append(self._codec.compress(vectors))
            lengths += some
        self._save(self._out / f"{n}.codes.pt", torch.cat([part.codes for part in packed]))
        self._save(self._out / f"{n}.residuals.pt", torch.cat([part.residuals for part in packed]))
        self._write(f"doclens.{n}.json", lengths)
        sizes = {"passage_offset": rows.start, "num_passages": len(rows), "num_embeddings": sum(lengths)}
        self._write(f"{n}.metadata.json", sizes)  # last: it tells that the chunk is whole

    def _invert(self, chunks: Sequence[range]) -> None:
        """Write which passages have a token at each centroid, and what the index is.

        The chunks are gone through twice, to count and to put each passage in its place: one is in memory at a time.
        """
        sizes = np.zeros(len(self._codec.centroids), np.int64)
        for n, rows in enumerate(chunks):
            sizes += np.bincount(self._pairs(n, rows)[0], minlength=len(sizes))
        places = np.cumsum(sizes) - sizes
        ivf = np.empty(sizes.sum(), np.int32)
        for n, rows in enumerate(chunks):
            cells, found = self._pairs(n, rows)
            counts = np.bincount(cells, minlength=len(sizes))
            ivf[np.arange(len(cells)) + (places - np.cumsum(counts) + counts)[cells]] = found
            places += counts
        self._save(self._out / _IVF, (torch.from_numpy(ivf), torch.from_numpy(sizes)))
        tokens = sum(int(_doclens(self._out, n).sum()) for n in range(len(chunks)))
        metadata = {"config": self._config, "num_chunks": len(chunks), "num_partitions": len(sizes)}
        metadata |= {"num_embeddings": tokens, "avg_doclen": tokens / len(self._corpus)}
        self._write(_METADATA, metadata)

    def _pairs(self, n: int, rows: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each centroid and each passage of a chunk with a token there, once: centroids in order, then passages."""
        codes = _load(self._out / f"{n}.codes.pt").numpy().astype(np.int64)
        pairs = np.unique(codes << 32 | np.repeat(rows, _doclens(self._out, n)))
        return pairs >> 32, pairs & 0xFFFFFFFF

    def _save(self, path: Path, tensors: object) -> None:
        with _replacing(path) as file:
            torch.save(tensors, file)

    def _write(self, name: str, value: object) -> None:
        with _replacing(self._out / name) as file:
            file.write(json.dumps(value).encode())


def _sample_size(passages: int) -> int:
    """How many passages the centroids are trained on: colbert-ai's rule."""
    return min(passages, 1 + int(16 * math.sqrt(120 * passages)))


def _parts(rows: Sequence[int]) -> list[Sequence[int]]:
    return [rows[begin : begin + _PART] for begin in range(0, len(rows), _PART)]


class _Corpus(Lines):
    """The passages of an index of ours."""

    def passage(self, row: int, score: float | None = None) -> Passage:
        return from_line(self[row], score)


class _Collection:
    """The passages of an index that colbert-ai made: lines of numbers and texts, memory-mapped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with _whole(path):
            with path.open("rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._offsets = self._find()

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def _find(self) -> NDArray[np.int64]:
        """Where each line begins, and the last one ends, which is kept in a file beside the collection."""
        kept = self._path.with_name(f"{self._path.name}.offsets.npy")
        if kept.is_file():
            known: NDArray[np.int64] = np.load(kept, mmap_mode="r")
            if known[-1] == len(self._bytes):
                return known
        logger.warning("going through %s to find its lines, once", self._path)
        with self._path.open("rb") as file:
            offsets = np.cumsum(np.fromiter((0, *map(len, file)), np.int64))
        try:
            with _replacing(kept) as file:
                np.save(file, offsets)
        except OSError as error:
            logger.warning("cannot write %s (%s): that will be done at each opening", kept, error.strerror)
        return offsets

    def passage(self, row: int, score: float | None = None) -> Passage:
        line = self._bytes[self._offsets[row] : self._offsets[row + 1]]
        with _whole(self._path):
            number, text, *rest = line.decode().strip("\r\n ").split("\t")
            if number != str(row):
                raise ValueError(f"line {row + 1} has the number {number} instead of {row}")
        title, bar, body = (rest[0], " | ", text) if rest else text.partition(" | ")
        return Passage(str(row), body, title, score) if bar else Passage(str(row), text, "", score)


def _described(path: Path) -> tuple[dict[str, Any], int]:
    """The configuration of an index, and how many chunks it has."""
    if not (path / _METADATA).is_file():
        if _unfinished(path).is_dir():
            raise UsageError(f"the index in {path} is not finished: start the same build again to go on with it")
        raise UsageError(f"there is no ColBERT index in {path}: build one with `python -m retrieval index`")
    if (path / _ABOUT).is_file():
        read_about(path, _ABOUT, "ColBERT", _FORMAT)
    with _whole(path):
        metadata = json.loads((path / _METADATA).read_bytes())
        return dict(metadata["config"]), int(metadata["num_chunks"])


def _passages(path: Path, config: dict[str, Any], collection: str | Path | None) -> _Corpus | _Collection:
    """The passages of an index: its own, or those of the collection that it was built from."""
    if collection is None and (path / CORPUS).is_file():
        return _Corpus(path / CORPUS)
    named = config.get("collection")  # of colbert-ai, and not a path if it was given a list
    named = Path(named if isinstance(named, str) else "collection.tsv")
    places = [named, path / named.name, path.parent / named.name]
    places += sorted((path.parent.parent / "collection").rglob(named.name))  # where the published index has it
    if collection is not None:
        places = [Path(collection)]
    for place in places:
        if place.is_file():
            return _Collection(place)
    raise UsageError(
        f"the index in {path} comes without passages, and they are not in {places[-1]}: say which collection it was "
        "built from"
    )


def _moved(checkpoint: str | None) -> str:
    """Where the checkpoint is that an index names, which may have been a directory of another machine."""
    if not checkpoint:
        raise UsageError("the index does not name its checkpoint: name it by checkpoint=DIR")
    path = Path(checkpoint)
    if path.is_dir():
        return checkpoint
    if path.is_absolute() and path.name not in _PUBLISHED:
        raise UsageError(f"the index was built with {checkpoint}, which is not there: give it by checkpoint=DIR")
    return _PUBLISHED.get(path.name, checkpoint)


def _directory(checkpoint: str | Path) -> Path:
    """The directory of a checkpoint, fetched from the hub or out of its cache if it is a name there."""
    if Path(checkpoint).is_dir():
        return Path(checkpoint).resolve()
    try:
        return Path(snapshot_download(str(checkpoint), ignore_patterns="*.onnx"))
    except (OSError, HFValidationError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UsageError(f"there is no ColBERT checkpoint {checkpoint}, here or on the hub: {reason}") from error


def _device(name: str | None) -> torch.device:
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError as error:
        raise UsageError(f"unknown device {name!r}: use cpu, cuda or cuda:N") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("torch finds no GPU here: use the device cpu")
    return device


def _maxsim(scores: torch.Tensor, lengths: NDArray[Any]) -> torch.Tensor:
    """For each passage the sum over the query's tokens of the best score among the passage's.

    Args:
        scores: Tokens of all passages, one passage after the other, x tokens of the query.
        lengths: Tokens per passage. A passage that has none is below all others.
    """
    counts = torch.from_numpy(lengths).to(scores.device)
    return torch.segment_reduce(scores, "max", lengths=counts, axis=0, initial=-9999.0).sum(1)


def _clean(text: str) -> str:
    """Without lone surrogates, which tokenizers refuse and LMs now and then write."""
    return text.encode("utf-8", "replace").decode()


def _load(path: Path) -> Any:
    return torch.load(path, map_location="cpu", mmap=True, weights_only=True)


def _doclens(path: Path, n: int) -> NDArray[np.int64]:
    return np.array(json.loads((path / f"doclens.{n}.json").read_bytes()), np.int64)


def _unfinished(out: Path) -> Path:
    return out.with_name(f"{out.name}.building")


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        reason = str(error).strip().partition("\n")[0]
        raise RetrievalError(f"{path} is damaged, build or fetch it again: {reason}") from error


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file that is there as a whole or not at all."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with unfinished.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
