"""Dense retrieval: passages and queries as vectors of a sentence-transformers model, searched with FAISS.

    DIR/dense.json                what the index is: format, encoder, kind, size of each file; written last
        corpus.jsonl …            the passages
        probe.npy                 the encoder's vectors of a fixed text, as a query and as a passage
        vectors.npy               exact search: the passages' vectors, one row each
        vectors.faiss             approximate search: the same vectors in a graph

Exact search compares the query with every vector. Approximate search follows a graph of neighbours (FAISS's HNSW) from
candidate to better candidate: few passages are missed, and the time hardly grows with the corpus. Both are
memory-mapped, and the score is the inner product.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from odqa.cluster import Workers
from odqa.errors import UsageError
from odqa.files import replace_directory, undamaged
from retrieval.base import BatchRetriever
from retrieval.dense.build import DESCRIPTION, FORMAT, GRAPH, VECTORS, Encoded, Writer
from retrieval.dense.encoder import Encoder, LoadedEncoder, encoder_of_index
from retrieval.descriptions import read_description
from retrieval.indexes import Corpus, OnDisk, Progress, building, check_target, kept_rows, read_array, stamp, updating
from retrieval.models import import_package
from retrieval.passage import Passage

__all__ = ["Dense"]


class Dense(OnDisk, BatchRetriever):
    """Searches an index that `Dense.build` made. Safe for many threads; the vectors stay on disk.

    Args:
        path: Directory of the index.
        model: Where the encoder's model is now, if it has moved since the index was built; it must be the same
            model. Also says that you trust it, if it brings code of its own.
        candidates: For an approximate index, how many passages a search keeps in view on its way, at least `k`. With
            more of them a search misses less and takes longer.
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
        self._faiss = import_package("faiss")
        self.path = Path(path)
        description = read_description(self.path, DESCRIPTION, "dense", FORMAT)
        self._opened, self._candidates, self._device = stamp(self.path, DESCRIPTION), candidates, device
        self._corpus = Corpus(self.path)
        if description.get("approximate"):
            with undamaged(self.path / GRAPH):
                self._graph = self._faiss.read_index(str(self.path / GRAPH), self._faiss.IO_FLAG_MMAP_IFC)
                if self._graph.ntotal != len(self):
                    raise ValueError("its vectors are those of other passages")
            self._parameters = self._faiss.SearchParametersHNSW(efSearch=candidates)
        else:
            self._graph = None
            self._vectors = read_array(self.path / VECTORS, np.float32, (len(self), None), mapped=True)
        self._encoder, _ = encoder_of_index(self.path / DESCRIPTION, description, model, device)

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        vectors = self._encoder.encode_queries(queries)
        k = min(k, len(self))
        if self._graph is None:
            scores, rows = self._faiss.knn(vectors, self._vectors, k, self._faiss.METRIC_INNER_PRODUCT)
        else:
            scores, rows = self._graph.search(vectors, k, params=self._parameters)
        # When the way through the graph meets fewer than k vectors, FAISS fills up with row -1.
        return [
            [self._corpus.passage(row, float(score)) for row, score in zip(*found, strict=True) if row >= 0]
            for found in zip(rows, scores, strict=True)
        ]

    def update(
        self, *, add: Iterable[Passage] = (), delete: Iterable[str] = (), batch_size: int = 32, resume: bool = True
    ) -> "Dense":
        """Delete passages, add others; see `retrieval.indexes.UpdatableIndex`.

        Only what is added is encoded. The vectors of the others are taken over, and a graph is linked anew. This gives
        what `Dense.build` would, but for the last bits of a vector, which depend on the passages encoded beside it.

        Args:
            add: The passages to add.
            delete: The ids of those to delete.
            batch_size: Passages encoded at a time.
            resume: Use what an unfinished update left behind; if false, delete it.
        """
        encoded = Encoded(self._corpus, self._vectors_of, kept_rows(self._corpus, delete))
        path = self.path.resolve()
        with updating(path, DESCRIPTION, self._opened) as work:
            replace_directory(path, self._writer(work, batch_size, resume).write(add, encoded))
        return Dense(path, model=self._encoder.encoder.model, candidates=self._candidates, device=self._device)

    def write_part(self, rows: range, work: Path) -> Path:
        """Write an index of some rows, with their vectors; returns its directory, within the directory `work`."""
        return self._writer(work, 1, False).write((), Encoded(self._corpus, self._vectors_of, np.array(rows)))

    def _writer(self, work: Path, batch_size: int, resume: bool) -> Writer:
        approximate = self._graph is not None
        return Writer(work, self._encoder, approximate=approximate, batch_size=batch_size, resume=resume)

    def _vectors_of(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._vectors[rows] if self._graph is None else self._graph.reconstruct_batch(rows)
        return found

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
        workers: Workers | None = None,
        progress: Progress = lambda parts, desc: parts,
    ) -> "Dense":
        """Encode passages, title and text together, and open the index.

        The passages are read and encoded as a stream, and only their ids are held in memory. The index appears in
        `out` only when it is whole. Until then the work is in `OUT.building`, which an unfinished build leaves
        behind: the next one, given the same passages and encoder, encodes only what is not there yet.

        Args:
            passages: Any iterable; ids must differ and texts must not be blank.
            out: Directory to make; its parents are made too.
            encoder: A key of `PRESETS`, the directory or hub name of a model, or an `Encoder`.
            approximate: Link the vectors to a graph, for corpora of millions of passages. Only this step holds all
                vectors in memory, 4 bytes per number; it takes one to two milliseconds of one core per vector.
            batch_size: Passages encoded at a time.
            resume: Use what an unfinished build left behind; if false, delete it.
            overwrite: Replace an index that is already in `out`.
            device: Where to encode, such as "cpu" or "cuda:1"; by default the best one there is.
            workers: Processes that encode, each piece of 1,024 passages in one of them, all on machines that have
                `out`; by default this one. The vectors are the same but for their last bits, which depend on the device
                and on how many threads compute.
            progress: Called as ``tqdm(parts, desc="encoding")``, to go through what the workers encode.

        Raises:
            UsageError: the extra is not installed, the model cannot be loaded, a passage cannot be indexed, there is
                none, the batch size is below 1, `out` exists, or another process is building it.
        """
        out = Path(out)
        check_target(out, DESCRIPTION, "dense", overwrite)
        if batch_size < 1:
            raise UsageError(f"passages are encoded in batches of at least 1, not {batch_size}")
        loaded = LoadedEncoder(Encoder.named(encoder), device)
        with building(out) as work:
            writer = Writer(
                work, loaded, approximate=approximate, batch_size=batch_size, resume=resume, workers=workers
            )
            replace_directory(out, writer.write(passages, progress=progress))
        return cls(out, model=loaded.encoder.model, device=device)
