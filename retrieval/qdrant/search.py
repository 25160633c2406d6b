"""Searching a collection of Qdrant that `Qdrant.build` made, and changing it.

    bm25      sparse vectors of this project's BM25 weights: the scores of `retrieval.bm25`
    dense     the vectors of an encoder: those of `retrieval.dense`
    colbert   ColBERT's vectors of all tokens rank, by MaxSim, what bm25 and dense have found. It is a second stage: a
              passage that neither finds is not found, other than in `retrieval.colbert`
    hybrid    bm25 and dense, fused by reciprocal rank as in `retrieval.ranking.fuse`

One collection serves all that it was built for, and says with what: `retrieval.qdrant.description`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odqa.errors import RetrievalError, UsageError
from retrieval.base import BatchRetriever
from retrieval.bm25 import Analyser
from retrieval.dense.encoder import Encoder, LoadedEncoder
from retrieval.indexes import Progress
from retrieval.models import same_vectors
from retrieval.passage import Passage
from retrieval.qdrant.address import COLLECTION, SEARCHES
from retrieval.qdrant.build import DATATYPES, Settings, update_collection, write_collection
from retrieval.qdrant.checksums import has_checksums, verify_collection
from retrieval.qdrant.connection import Connection, models, values_of
from retrieval.qdrant.description import built_with, read
from retrieval.qdrant.terms import number_of, tokens_of_probe
from retrieval.ranking.fuse import reciprocal_rank_fusion

if TYPE_CHECKING:
    from retrieval.colbert.encoder import Checkpoint

__all__ = ["Qdrant"]

_BATCH = 16  # queries in one request
_BUILDING = 60.0  # seconds for a request that writes a batch
_FIELDS = ["id", "title", "text", "row"]


class Qdrant(BatchRetriever):
    """Searches a collection that `Qdrant.build` made. Safe for many threads.

    Passages of equal scores stand in the order of the corpus, except that Qdrant decides which of those that share the
    k-th place are found. A directory is searched by Qdrant's client itself: it compares every query with every passage,
    warns above 20,000 of them, and only one process at a time can have it open.

    Args:
        location: The URL of a Qdrant server, of version 1.16 or newer, or the directory of an embedded collection.
        collection: Its name.
        search: One of "bm25", "dense", "colbert", "hybrid"; by default the last stage that the collection has: colbert,
            else hybrid, else bm25.
        api_key: Key of the server; kept out of every message.
        model: Where the encoder's model is now, if it has moved since the collection was built. Also says that you
            trust it, if it brings code of its own.
        checkpoint: Likewise for ColBERT.
        device: Where to encode queries, such as "cpu" or "cuda:1"; by default the best one there is.
        depth: How many passages bm25 and dense are asked for where their lists are fused or ranked anew; `k` if that
            is more.
        timeout, retries, backoff: See `retrieval.qdrant.connection.Connection`.

    Raises:
        UsageError: there is no such finished collection, it was not built for this search, a model cannot be loaded or
            is not the one that the passages were encoded with, words are stemmed differently, or a setting is out of
            range.
        RetrievalError: the server could not answer; also in searches.
    """

    def __init__(
        self,
        location: str | Path,
        *,
        collection: str = COLLECTION,
        search: str | None = None,
        api_key: str | None = None,
        model: str | None = None,
        checkpoint: str | Path | None = None,
        device: str | None = None,
        depth: int = 100,
        timeout: float = 10.0,
        retries: int = 3,
        backoff: float = 0.5,
    ) -> None:
        if depth < 1:
            raise UsageError(f"fusion and ranking need a depth of at least 1, not {depth}")
        if search is not None and search not in SEARCHES:
            raise UsageError(f"there is no search {search!r} of a Qdrant collection: use one of {', '.join(SEARCHES)}")
        self.location, self._depth = location, depth
        self._model, self._checkpoint, self._device = model, checkpoint, device
        self._connection = Connection(
            location, collection, api_key=api_key, timeout=timeout, retries=retries, backoff=backoff
        )
        self.path = self._connection.path
        self._description = read(self._connection)
        if self.path and has_checksums(self.path, collection):  # the client has read all of it too
            verify_collection(self.path, collection)
        elif self.path and self._description.passages and not len(self):
            raise RetrievalError(f"{self._connection} is damaged, its passages are gone: build it again")
        has = [name for name in ("bm25", "dense", "colbert") if getattr(self._description, name)]
        has += ["hybrid"] if "dense" in has else []
        self._kind = search or next(name for name in ("colbert", "hybrid", "bm25") if name in has)
        if self._kind not in has:
            raise UsageError(
                f"{self._connection} has no {search} search, it was built with {built_with(self._description)}: build "
                f"it with {'--checkpoint' if search == 'colbert' else '--encoder'} too"
            )
        self._analyser, self._moved = self._load_analyser(), self._description.bm25.moved
        self._first = [name for name in ("bm25", "dense") if name in has and self._kind in (name, "hybrid", "colbert")]
        self._dense = self._load_dense() if "dense" in self._first else None
        self._late = self._load_late() if self._kind == "colbert" else None

    def _load_analyser(self) -> Analyser:
        analyser = self._description.bm25.analyser
        try:
            same = tokens_of_probe(analyser) == self._description.bm25.probe
        except (KeyError, re.error):  # no such stemmer, or no such pattern
            same = False
        if not same:
            raise RetrievalError(
                f"the analyser of {self._connection} is not the one it was built with, or PyStemmer has changed: it "
                f"was built with {built_with(self._description)}; build it again"
            )
        return analyser

    def _load_dense(self) -> LoadedEncoder:
        part, named = self._description.dense, self._model
        assert part
        encoder = replace(part.encoder, model=named or part.encoder.model)
        loaded = LoadedEncoder(encoder, self._device, trusted=named is not None)
        self._check(same_vectors(part.probe, loaded.probe().ravel()), "model", loaded.encoder.model)
        return loaded

    def _load_late(self) -> "Checkpoint":
        part, named = self._description.colbert, self._checkpoint
        assert part
        late = _late_encoder(named or part.checkpoint, part.doc_maxlen, self._device, trusted=named is not None)
        self._check(same_vectors(part.probe, late.probe()), "checkpoint", late.name)
        return late

    def _check(self, same: bool, kind: str, name: str) -> None:
        if not same:
            raise UsageError(
                f"the {kind} {name!r} is not the one that the passages of {self._connection} were encoded with, it was "
                f"built with {built_with(self._description)}: open it with that, or build it again"
            )

    def __len__(self) -> int:
        return self._connection.passages()

    def passage(self, row: int) -> Passage:
        """The passage in that row of the corpus, counted from 0, or in the next row that is not deleted."""
        found, _ = self._connection.call(
            "scroll",
            scroll_filter=models.Filter(must=[models.FieldCondition(key="row", range=models.Range(gte=row))]),
            order_by=models.OrderBy(key="row"),
            limit=1,
            with_payload=_FIELDS,
        )
        if not found:
            raise RetrievalError(f"{self._connection} has no passage in row {row} or behind it")
        return _passage(found[0])

    def ids(self) -> Iterator[str]:
        """The ids of all passages, in no order."""
        return self._connection.ids()

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        batches = [queries[n : n + _BATCH] for n in range(0, len(queries), _BATCH)]
        return [passages for batch in batches for passages in self._search(batch, k)]

    def _search(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        limit = k if self._kind in ("bm25", "dense") else max(k, self._depth)
        dense = self._dense.encode_queries(queries) if self._dense else [None] * len(queries)
        stages = [self._stages(query, vector) for query, vector in zip(queries, dense, strict=True)]
        if self._late:
            tables = self._late.encode_queries(queries)
            requests = [
                [self._ranking(some, table, k, limit)] if some else []
                for some, table in zip(stages, tables, strict=True)
            ]
        else:
            requests = [
                [models.QueryRequest(**stage, limit=limit, with_payload=_FIELDS) for stage in some] for some in stages
            ]
        lists = iter(self._ask([request for some in requests for request in some]))
        found = [list(islice(lists, len(some))) for some in requests]
        if self._kind == "hybrid":
            return [reciprocal_rank_fusion(some)[:k] for some in found]
        return [some[0] if some else [] for some in found]

    def _stages(self, query: str, vector: Any) -> list[dict[str, Any]]:
        """What bm25 and dense are asked; a query without a word that counts asks bm25 nothing."""
        stages: list[dict[str, Any]] = []
        if "bm25" in self._first and (counts := Counter(self._analyser(query))):
            numbers: Counter[int] = Counter()
            for token, count in counts.items():
                numbers[self._moved.get(token, number_of(token))] += count
            sparse = models.SparseVector(indices=list(numbers), values=[float(count) for count in numbers.values()])
            stages.append({"query": sparse, "using": "bm25"})
        if vector is not None:
            dense = self._description.dense
            exact = not ((dense and dense.approximate) or self._connection.embedded)
            params = models.SearchParams(exact=True) if exact else None
            stages.append({"query": vector.tolist(), "using": "dense", "params": params})
        return stages

    def _ranking(self, stages: Sequence[dict[str, Any]], table: Any, k: int, limit: int) -> models.QueryRequest:
        return models.QueryRequest(
            prefetch=[models.Prefetch(**stage, limit=limit) for stage in stages],
            query=table.tolist(),
            using="colbert",
            limit=k,
            with_payload=_FIELDS,
        )

    def _ask(self, requests: Sequence[models.QueryRequest]) -> list[list[Passage]]:
        if not requests:
            return []
        found = self._connection.call("query_batch_points", requests=requests)
        if len(found) != len(requests):
            raise RetrievalError(f"{self._connection} gives {len(found)} lists for {len(requests)} searches")
        return [
            [_passage(p, p.score) for p in sorted(reply.points, key=lambda p: (-p.score, *values_of(p, "row")))]
            for reply in found
        ]

    def update(self, *, add: Iterable[Passage] = (), delete: Iterable[str] = (), batch_size: int = 32) -> "Qdrant":
        """Delete passages, add others, and open the collection anew.

        Only these points are touched. So the weights of BM25 stay those of the statistics at building, for the passages
        that are added too: how rare a word is and how long a passage is on average are counted when the collection is
        built, and after many changes it should be built again. Dense and ColBERT's scores are as after a new build.

        Searches see each batch at once. After an interrupt the same update goes on: a passage that is there with the
        same title and text is left as it is.

        Args:
            add: The passages to add.
            delete: The ids of those to delete.
            batch_size: Passages encoded and sent at a time.

        Raises:
            UsageError: an id to delete is not there, an id to add is there with another text, a passage cannot be
                added, no passage would be left, or a model cannot be loaded.
            RetrievalError: the server could not answer.
        """
        dense = (self._dense or self._load_dense()) if self._description.dense else None
        late = (self._late or self._load_late()) if self._description.colbert else None
        update_collection(self._connection, self._description, add, delete, dense, late, batch_size)
        updated = copy(self)
        updated._description = read(self._connection)
        return updated

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        location: str | Path,
        *,
        collection: str = COLLECTION,
        api_key: str | None = None,
        k1: float = 0.9,
        b: float = 0.4,
        stemmer: str | None = "english",
        stop_words: str | Iterable[str] | None = "english",
        encoder: str | Encoder | None = None,
        approximate: bool = False,
        checkpoint: str | Path | None = None,
        doc_maxlen: int = 220,
        datatype: str = DATATYPES[0],
        batch_size: int = 32,
        device: str | None = None,
        resume: bool = True,
        overwrite: bool = False,
        progress: Progress = lambda parts, desc: parts,
    ) -> "Qdrant":
        """Write passages, title and text together, to a collection, and open it.

        The passages are read once, into a temporary file, and counted for BM25; then they are encoded and sent in
        batches. Only their ids and the different words are held in memory. Until the last batch is there the collection
        cannot be opened. An interrupted build, given the same passages and settings, goes on where it was.

        Args:
            location, collection, api_key: See `Qdrant`.
            k1, b, stemmer, stop_words: See `retrieval.bm25.BM25.build`.
            passages, batch_size, device, resume, encoder: See `retrieval.dense.Dense.build`.
            checkpoint: See `retrieval.colbert.ColBERT.build`; None, as for `encoder`, for a collection without.
            approximate: Have the server link the dense vectors to a graph (HNSW), which finds nearly all of the nearest
                in a small part of the time; else it compares the query with every vector.
            doc_maxlen: Tokens of a passage that ColBERT reads, 3 of them special; what is longer is cut off.
            datatype: How the server stores the vectors of ColBERT: "float16" as the model makes them, "turbo8" or
                "turbo4" in 8 or 4 bits per number. A directory keeps them as they are, whatever is said here.
            overwrite: Replace a collection that this built before. It is deleted before the first passage is sent.
            progress: Called as ``tqdm(parts, desc="indexing")``, to go through the batches.

        Raises:
            UsageError: a setting is out of range, a model cannot be loaded, a passage cannot be indexed, there is none,
                the collection exists, or its unfinished build is of something else.
            RetrievalError: the server could not answer.
        """
        analyser = Analyser.from_settings(stemmer, stop_words)
        settings = Settings(analyser, k1, b, approximate, doc_maxlen, datatype, batch_size)
        connection = Connection(location, collection, api_key=api_key, timeout=_BUILDING, create=True)
        dense = LoadedEncoder(Encoder.named(encoder), device) if encoder else None
        late = _late_encoder(checkpoint, doc_maxlen, device, trusted=True) if checkpoint else None
        write_collection(
            connection, passages, settings, dense, late, resume=resume, overwrite=overwrite, progress=progress
        )
        model, named = dense.encoder.model if dense else None, late.name if late else None
        return cls(location, collection=collection, api_key=api_key, device=device, model=model, checkpoint=named)


def _late_encoder(checkpoint: str | Path, doc_maxlen: int, device: str | None, *, trusted: bool) -> "Checkpoint":
    from retrieval.colbert.encoder import Checkpoint, find_device  # which needs the extra `colbert`

    return Checkpoint(checkpoint, find_device(device), doc_maxlen=doc_maxlen, trusted=trusted)


def _passage(point: Any, score: float | None = None) -> Passage:
    id, text, title = values_of(point, "id", "text", "title")
    return Passage(id, text, title, score)
