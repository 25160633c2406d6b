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

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.base import Retriever
from retrieval.colbert.build import DESCRIPTION, FORMAT, IVF, METADATA, Builder
from retrieval.colbert.codec import Codec, load_lengths, load_tensors, reading
from retrieval.colbert.collection import open_passages
from retrieval.colbert.encoder import Checkpoint, checkpoint_directory, find_device
from retrieval.colbert.libraries import torch
from retrieval.encoding import Cluster
from retrieval.errors import UsageError
from retrieval.files import replace_directory
from retrieval.indexes import Progress, building, building_directory, check_target, read_description
from retrieval.passage import Passage

__all__ = ["ColBERT"]

_BATCH = 32  # queries encoded at a time
_PUBLISHED = {"colbertv2.0": "colbert-ir/colbertv2.0"}  # the name in published indexes -> the name on the hub
_OF_QUERIES = "query_maxlen", "attend_to_mask_tokens", "query_token_id", "query_token"  # settings recorded in indexes
_NAME_IT = 'name it as `checkpoint`, in code or in a TOML file of the type "colbert"'


class ColBERT(Retriever):
    """Searches an index that `ColBERT.build` or colbert-ai made, with MaxSim scores.

    Residuals, codes, inverted lists and passages are memory-mapped; only the centroids, the checkpoint and 16 bytes
    per passage are held in memory. Threads may share one object.

    A short query is filled up with [MASK] to the length that the checkpoint was trained with, 32 tokens for ColBERTv2.
    The masks take part in the search: that is ColBERT's query augmentation. A longer query is cut at `query_maxlen`,
    which is also 32 by default, as on the servers that the papers used. So a query with other text before its question
    (such as BlendFilter's) loses the question; a warning is logged when the first query is cut. With a higher
    `query_maxlen` longer queries are searched whole, which takes longer, and short queries as before.

    Args:
        path: Directory of the index. For the published index of the Wikipedia 2017 abstracts this is the folder
            ``wiki17.nbits.local``, as downloaded.
        checkpoint: Directory or Hugging Face name of the ColBERT checkpoint that the index was built with; by default
            the one that the index names. Checkpoints may bring code, which colbert-ai runs: use those you trust.
        collection: The passages of an index that colbert-ai made: lines ``number<TAB>title | text``, whose numbers,
            counted from 0, become ids. By default the file that the index names, or one of that name in `path`, in
            the directory above, or where the published index has it.
        device: Such as "cpu" or "cuda:1"; by default a GPU if there is one.
        query_maxlen: Tokens at which a query is cut, 3 of them special; by default the length that shorter ones are
            filled up to.
        ncells: Centroids per query token whose passages are candidates.
        centroid_score_threshold: Cosine below which a centroid does not count in the first ranking of candidates.
        ndocs: Candidates that the first ranking keeps. The second ranking, which counts all centroids, keeps a quarter
            of them; these are scored, and no search finds more. The defaults of `ncells`, `centroid_score_threshold`
            and `ndocs` are PLAID's: 1, 0.5, 256 for k up to 10; 2, 0.45, 1024 for k up to 100; else 4, 0.4 and 4 k
            (at least 4096).

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
        on = find_device(device)
        config, chunks = _described(self.path)
        self._passages = open_passages(self.path, config.get("collection"), collection)
        with reading(self.path):
            self._codec = Codec.load_from(self.path, config["nbits"], on)
            self._codes = [load_tensors(self.path / f"{n}.codes.pt").numpy() for n in range(chunks)]
            self._residuals = [load_tensors(self.path / f"{n}.residuals.pt").numpy() for n in range(chunks)]
            lengths = [load_lengths(self.path, n) for n in range(chunks)]
            self._firsts = np.cumsum([0, *map(len, lengths)])  # first passage of each chunk
            self._begins = np.concatenate([np.cumsum(part) - part for part in lengths])  # within the chunk
            self._lengths = np.concatenate(lengths)
            ivf, sizes = load_tensors(self.path / IVF)
            self._ivf, self._cells = ivf.numpy(), np.cumsum([0, *sizes.tolist()])
            if [len(codes) for codes in self._codes] != [part.sum() for part in lengths]:
                raise ValueError("its files do not fit together")
        if len(self._passages) != len(self):
            raise UsageError(
                f"the index in {self.path} has {len(self):,} passages, its collection {len(self._passages):,}: "
                "name the collection that it was built from"
            )
        settings = {name: config[name] for name in _OF_QUERIES if config.get(name) is not None}
        found = checkpoint_directory(checkpoint or _recorded_checkpoint(config.get("checkpoint")))
        self._checkpoint = Checkpoint(found, on, longest_query=query_maxlen, **settings)
        if self._codec.dim != self._checkpoint.dim:
            raise UsageError(
                f"{self.path} has vectors of {self._codec.dim} numbers, the checkpoint makes {self._checkpoint.dim}: "
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
        return [self._search(vectors, k) for batch in batches for vectors in self._checkpoint.encode_queries(batch)]

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
        """At most `limit` passages, those with the highest MaxSim when centroids stand for tokens, in order of rows.

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
        cluster: Cluster | None = None,
    ) -> "ColBERT":
        """Index passages, each as ``title | text``, and open the index.

        The passages are read as a stream. Only their ids are held in memory, and for a while the token vectors of the
        sample that the centroids are trained on: all of 30,000 passages, or 400,000 of 5 million.

        The index appears in `out` only when it is whole. Until then the work is in `OUT.building`, which an unfinished
        build leaves behind: the next one, given the same passages and settings, goes on with it and encodes again at
        most 1,000 passages of the sample, or a chunk of 25,000.

        Args:
            passages: Any iterable; ids must differ and texts must not be blank.
            out: Directory to make; its parents are made too.
            checkpoint: Directory or Hugging Face name of a ColBERT checkpoint; see `ColBERT` on trusting it.
            bits: Of the residual, for each number of a vector: 1, 2, 4 or 8.
            doc_maxlen: Tokens of a passage, 3 of them special; what is longer is cut off.
            kmeans_niters: Rounds of k-means for the centroids.
            batch_size: Passages encoded at a time.
            device: Such as "cpu" or "cuda:1"; by default a GPU if there is one. K-means runs there if FAISS can.
            resume: Go on with what an unfinished build left behind; if false, delete it.
            overwrite: Replace an index that is already in `out`.
            progress: Called as ``tqdm(parts, desc="sampling")``, then "clustering" and "encoding", to go through parts.
            cluster: Processes that encode, all on machines that have `out` and the checkpoint; by default this one. One
                process at a time encodes 1,000 passages of the sample, or a chunk. The index is the same, as far as
                each computes the same vectors: other devices and other numbers of threads change last bits.

        Raises:
            UsageError: a setting is out of range, the checkpoint cannot be loaded, a passage cannot be indexed, there
                is none, `out` exists, another process is building it, or the unfinished build is of something else.
        """
        out = Path(out)
        check_target(out, DESCRIPTION, "ColBERT", overwrite)
        if bits not in (1, 2, 4, 8) or kmeans_niters < 1 or batch_size < 1:
            raise UsageError(
                "bits must be 1, 2, 4 or 8, and kmeans_niters and batch_size at least 1, "
                f"not {bits}, {kmeans_niters} and {batch_size}"
            )
        directory = checkpoint_directory(checkpoint)
        loaded = Checkpoint(directory, find_device(device), doc_maxlen=doc_maxlen)
        if loaded.dim % (8 * bits):
            raise UsageError(f"vectors of {loaded.dim} numbers do not fit {bits} bits each: use fewer bits")
        name = str(directory) if Path(checkpoint).is_dir() else str(checkpoint)
        config = {"checkpoint": name, "dim": loaded.dim, "nbits": bits, "doc_maxlen": doc_maxlen}
        config |= {"kmeans_niters": kmeans_niters}
        with building(out) as work:
            builder = Builder(work, config, loaded, batch_size, progress, cluster)
            replace_directory(out, builder.run(passages, resume))
        return cls(out, device=device)


def _described(path: Path) -> tuple[dict[str, Any], int]:
    """The configuration of an index, and how many chunks it has."""
    if not (path / METADATA).is_file():
        if building_directory(path).is_dir():
            raise UsageError(f"the index in {path} is not finished: start the same build again to go on with it")
        raise UsageError(f"there is no ColBERT index in {path}: build one with `python -m retrieval index`")
    if (path / DESCRIPTION).is_file():
        read_description(path, DESCRIPTION, "ColBERT", FORMAT)
    with reading(path):
        metadata = json.loads((path / METADATA).read_bytes())
        return dict(metadata["config"]), int(metadata["num_chunks"])


def _recorded_checkpoint(checkpoint: str | None) -> str:
    """The checkpoint that an index names; it may name a directory of the machine where it was built."""
    if not checkpoint:
        raise UsageError(f"the index does not name its checkpoint: {_NAME_IT}")
    path = Path(checkpoint)
    if path.is_dir():
        return checkpoint
    if path.is_absolute() and path.name not in _PUBLISHED:
        raise UsageError(f"the index was built with {checkpoint}, which is not there: {_NAME_IT}")
    return _PUBLISHED.get(path.name, checkpoint)


def _maxsim(scores: torch.Tensor, lengths: NDArray[Any]) -> torch.Tensor:
    """For each passage the sum over the query's tokens of the best score among the passage's.

    Args:
        scores: Tokens of all passages, one passage after the other, x tokens of the query.
        lengths: Tokens per passage. A passage that has none is below all others.
    """
    counts = torch.from_numpy(lengths).to(scores.device)
    return torch.segment_reduce(scores, "max", lengths=counts, axis=0, initial=-9999.0).sum(1)
