"""ColBERT: each token of a query looks for its best match among the tokens of a passage, in a PLAID index on disk.

Built on colbert-ai: its checkpoints, its codec and its index format, so that its own `Searcher` opens our indexes and
we open its. A search takes three steps:

1. Candidates, as WARP finds them: each token of the query probes the centroids nearest to it, and each passage that
   has tokens there gains how near the nearest of those is. Where a token meets none of a passage's, it counts as near
   as the farthest that was probed: the passage cannot have a nearer one.
2. Ranking of the candidates by MaxSim, centroids standing for the tokens of a passage, as in PLAID.
3. Scores: MaxSim over the vectors of the best ones.

    DIR/colbert.json              what the index is, and the size of each file; written last
        metadata.json             the same for colbert-ai
        centroids.pt, buckets.pt, avg_residual.pt
                                  the codec: a vector is its nearest centroid and a residual of few bits per number
        N.codes.pt, N.residuals.pt, doclens.N.json, N.metadata.json
                                  chunk N of the passages: centroids and residuals of the tokens, tokens per passage
        ivf.pid.pt                centroid -> the passages with a token there
        corpus.jsonl …            the passages

An index that colbert-ai made has neither colbert.json nor passages: those are in a `collection.tsv`.

Papers: Khattab and Zaharia 2020 (ColBERT); Santhanam et al. 2022 (ColBERTv2, the codec) and 2022 (PLAID); Scheerer et
al. 2025 (WARP). What differs from WARP: it adds up scores of tokens that it has copied into an order by centroid, which
would take the disk twice and give other scores than MaxSim; here the lists of passages, which the index has, do for
step 1. And it imputes the nearness of the centroid at which the lists that a token has met hold t' tokens. Measured on
real passages, the farthest probed centroid is as good as the paper's t', and needs no setting.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odqa.cluster import Workers
from odqa.errors import UsageError
from odqa.files import read_json, replace_directory, undamaged
from retrieval.base import BatchRetriever
from retrieval.candidates import Candidates
from retrieval.colbert.build import DESCRIPTION, FORMAT, METADATA, Builder
from retrieval.colbert.codec import REMEDY
from retrieval.colbert.collection import open_passages
from retrieval.colbert.encoder import Checkpoint, find_device
from retrieval.colbert.scoring import Pruning, Scorer
from retrieval.colbert.storage import Storage
from retrieval.descriptions import read_description
from retrieval.indexes import Progress, building, building_directory, check_target
from retrieval.passage import Passage

__all__ = ["ColBERT"]

_BATCH = 32  # queries encoded at a time
_NDOCS = 2048  # candidates that are ranked, unless more are needed
_PUBLISHED = {"colbertv2.0": "colbert-ir/colbertv2.0"}  # the name in published indexes -> the name on the hub
_OF_QUERIES = {"query_maxlen": int, "attend_to_mask_tokens": bool, "query_token_id": str, "query_token": str}
_SETTINGS = {"nbits": int, "checkpoint": str} | _OF_QUERIES  # recorded in indexes, with their types
_NAME_IT = 'name it as `checkpoint`, in code or in a TOML file of the type "colbert"'


class ColBERT(BatchRetriever):
    """Searches an index that `ColBERT.build` or colbert-ai made, with MaxSim scores.

    Residuals, codes, inverted lists and passages are memory-mapped; only the centroids, the checkpoint and 16 bytes
    per passage are held in memory, and while it searches at most 256 MB. Threads may share one object. A batch is
    searched by as many threads as torch uses.

    A short query is filled up with [MASK] to the length that the checkpoint was trained with, 32 tokens for ColBERTv2.
    The masks take part in the search: that is ColBERT's query augmentation. A longer query is cut at `query_maxlen`,
    which is also 32 by default, as on the servers that the papers used. So a query with other text before its question
    (such as BlendFilter's) loses the question; a warning is logged when the first query is cut. With a higher
    `query_maxlen` longer queries are searched whole, which takes longer, and short queries as before.

    Args:
        path: Directory of the index. For the published index of the Wikipedia 2017 abstracts this is the folder
            ``wiki17.nbits.local``, as downloaded.
        checkpoint: Directory or Hugging Face name of the ColBERT checkpoint that the index was built with; by default
            the one that the index names. One that brings code of its own, which colbert-ai runs, must be named
            here: so you say that you trust it.
        collection: The passages of an index that colbert-ai made: lines ``number<TAB>title | text``, whose numbers,
            counted from 0, become ids. By default the file that the index names, or one of that name in `path`, in
            the directory above, or where the published index has it.
        device: Such as "cpu" or "cuda:1"; by default a GPU if there is one.
        query_maxlen: Tokens at which a query is cut, 3 of them special; by default the length that shorter ones are
            filled up to.
        ncells: Centroids that each token of a query probes. WARP's 32 miss passages among 2**18 centroids.
        centroid_score_threshold: Cosine below which a centroid is not probed; by default there is no such bound.
        ndocs: Candidates that are ranked. A quarter of them is scored, and no search finds more. The default is 2048,
            or 4 k if that is more.
        exact: Score all passages instead, for corpora of some thousands: it takes 0.04 ms per passage.

    Raises:
        UsageError: there is no finished index in `path`, its checkpoint or passages cannot be found, or a setting is
            out of range.
        RetrievalError: the index is damaged; also in searches.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        checkpoint: str | Path | None = None,
        collection: str | Path | None = None,
        device: str | None = None,
        query_maxlen: int | None = None,
        ncells: int = 128,
        centroid_score_threshold: float | None = None,
        ndocs: int | None = None,
        exact: bool = False,
    ) -> None:
        if ncells < 1 or (ndocs is not None and ndocs < 4):
            raise UsageError(f"ncells must be at least 1 and ndocs at least 4, not {ncells} and {ndocs}")
        self.path = Path(path)
        self._ncells, self._threshold, self._ndocs, self._exact = ncells, centroid_score_threshold, ndocs, exact
        on = find_device(device)
        config, chunks = _described(self.path)
        self._passages = open_passages(self.path, config.get("collection"), collection)
        self._storage = Storage(self.path, chunks, config["nbits"], on)
        self._scorer = Scorer(self._storage)
        if len(self._passages) != len(self):
            raise UsageError(
                f"the index in {self.path} has {len(self):,} passages, its collection {len(self._passages):,}: "
                "name the collection that it was built from"
            )
        settings = {name: config[name] for name in _OF_QUERIES if config.get(name) is not None}
        named = checkpoint or _recorded_checkpoint(config.get("checkpoint"))
        self._checkpoint = Checkpoint(named, on, longest_query=query_maxlen, trusted=checkpoint is not None, **settings)
        if (dim := self._storage.codec.dim) != self._checkpoint.dim:
            raise UsageError(
                f"{self.path} has vectors of {dim} numbers, the checkpoint makes {self._checkpoint.dim}: "
                "name the checkpoint that the index was built with"
            )

    def __len__(self) -> int:
        return len(self._storage)

    def passage(self, row: int) -> Passage:
        """The passage in that row of the corpus, counted from 0."""
        return self._passages.passage(row)

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        pruning = None if self._exact else self._pruning(k)
        return self._named(
            best for vectors in self._encoded(queries) for best in self._scorer.search(vectors, pruning, k)
        )

    def candidates(self, queries: Sequence[str], k: int) -> list[Candidates]:
        """What a search for `k` passages knows of its candidates for each query, for one that has parts of an index.

        `retrieval.candidates.chosen` says which of them `rank` is to score; `exact` has no part in this.
        """
        pruning = self._pruning(k)
        return [found for vectors in self._encoded(queries) for found in self._scorer.candidates(vectors, pruning)]

    def rank(self, asked: Sequence[tuple[NDArray[np.float32], NDArray[np.int64]]], k: int) -> list[list[Passage]]:
        """The `k` best of some passages for each query.

        Args:
            asked: For each query the vectors of its tokens, tokens x numbers, and the rows of the passages, in order.
            k: How many passages at most.
        """
        return self._named(self._scorer.rank(asked, k))

    def _encoded(self, queries: Sequence[str]) -> Iterator[list[NDArray[np.float32]]]:
        for n in range(0, len(queries), _BATCH):
            yield self._checkpoint.encode_queries(queries[n : n + _BATCH])

    def _named(self, found: Iterable[list[tuple[int, float]]]) -> list[list[Passage]]:
        return [[self._passages.passage(row, score) for row, score in best] for best in found]

    def _pruning(self, k: int) -> Pruning:
        return Pruning(self._ncells, self._threshold, self._ndocs or max(_NDOCS, 4 * k))

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
        workers: Workers | None = None,
    ) -> "ColBERT":
        """Index passages, each as ``title | text``, and open the index.

        The passages are read as a stream. Only their ids are held in memory, and for a while the token vectors of the
        sample that the centroids are trained on: all of 30,000 passages, or 400,000 of 5 million.

        The index appears in `out` only when it is whole. Until then the work is in `OUT.building`, which an unfinished
        build leaves behind: the next one, given the same passages and settings, goes on with it and encodes again at
        most 1,000 passages of the sample, or a chunk of 25,000.

        Args:
            passages, out, batch_size, resume, overwrite: See `retrieval.dense.Dense.build`.
            checkpoint: Directory or Hugging Face name of a ColBERT checkpoint; see `ColBERT` on trusting it.
            bits: How many a residual has for each number of a vector: 1, 2, 4 or 8.
            doc_maxlen: Tokens of a passage, 3 of them special; what is longer is cut off.
            kmeans_niters: Rounds of k-means for the centroids.
            device: Such as "cpu" or "cuda:1"; by default a GPU if there is one. K-means runs there if FAISS can.
            progress: Called as ``tqdm(parts, desc="sampling")``, then "clustering" and "encoding", to go through parts.
            workers: Processes that encode, all on machines that have `out` and the checkpoint; by default this one. One
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
        loaded = Checkpoint(checkpoint, find_device(device), doc_maxlen=doc_maxlen)
        if loaded.dim % (8 * bits):
            raise UsageError(f"vectors of {loaded.dim} numbers do not fit {bits} bits each: use fewer bits")
        config = {"checkpoint": loaded.name, "dim": loaded.dim, "nbits": bits, "doc_maxlen": doc_maxlen}
        config |= {"kmeans_niters": kmeans_niters}
        with building(out) as work:
            builder = Builder(work, config, loaded, batch_size, progress, workers)
            replace_directory(out, builder.run(passages, resume))
        return cls(out, checkpoint=loaded.path, device=device)


def _described(path: Path) -> tuple[dict[str, Any], int]:
    """The configuration of an index, and how many chunks it has."""
    if not (path / METADATA).is_file():
        if building_directory(path).is_dir():
            raise UsageError(f"the index in {path} is not finished: start the same build again to go on with it")
        raise UsageError(f"there is no ColBERT index in {path}: build one with `odqa index`")
    if (path / DESCRIPTION).is_file():
        read_description(path, DESCRIPTION, "ColBERT", FORMAT)
    metadata = read_json(path / METADATA, REMEDY)
    with undamaged(path / METADATA, REMEDY):
        config, chunks = dict(metadata["config"]), int(metadata["num_chunks"])
        if wrong := [name for name, kind in _SETTINGS.items() if not isinstance(config.setdefault(name), kind | None)]:
            raise TypeError(f"its setting {wrong[0]} is none")
        return config, chunks


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
