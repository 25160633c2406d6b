"""Writing a collection, and changing it: all passages are counted first, then encoded and sent in batches.

A point is a passage: its number is a UUID made of the passage's id, its payload is id, title, text and row, and it has
a vector for each search. Points without vectors, which no search finds, hold the statistics of BM25: a passage that is
added later is weighed with them.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from odqa.errors import RetrievalError, UsageError
from retrieval.bm25 import Analyser
from retrieval.bm25.build import check_weights
from retrieval.dense.encoder import LoadedEncoder
from retrieval.indexes import (
    CORPUS,
    Corpus,
    DuplicateId,
    LineWriter,
    Progress,
    checked_passages,
    passage_line,
    refuse_missing,
)
from retrieval.models import without_surrogates
from retrieval.passage import Passage, joined
from retrieval.qdrant.checksums import note_checksums, remove_checksums
from retrieval.qdrant.connection import PASSAGES, Connection, models, values_of
from retrieval.qdrant.description import (
    FORMAT,
    NAME,
    BM25Part,
    ColBERTPart,
    DensePart,
    Description,
    built_with,
    checked,
    settings_of,
)
from retrieval.qdrant.terms import Statistics, Tokens, tokens_of_probe

if TYPE_CHECKING:
    from retrieval.colbert.encoder import Checkpoint

__all__ = ["DATATYPES", "Settings", "update_collection", "write_collection"]

DATATYPES = ("float16", "turbo8", "turbo4")
"""How a server may store the vectors of ColBERT; all that the encoder makes are of half precision."""

_NAMESPACE = uuid5(NAMESPACE_URL, "dspy-odqa")
_TOKENS = 5_000  # whose frequencies are in a point
_POINTS = 256  # that are deleted or looked for in one request


def _point_of(id: str) -> str:
    """The number of the point of the passage with this id."""
    return str(uuid5(_NAMESPACE, without_surrogates(f"passage:{id}")))


class Writer:
    """Turns passages into points, and sends them. `statistics` are what BM25's weights are made of; `dense` and
    `late` encode, if the collection has such vectors."""

    def __init__(
        self,
        connection: Connection,
        bm25: BM25Part,
        statistics: Statistics,
        dense: LoadedEncoder | None,
        late: "Checkpoint | None",
        batch_size: int,
    ) -> None:
        self._connection, self._bm25, self._statistics = connection, bm25, statistics
        self._dense, self._late, self._batch_size = dense, late, batch_size
        self._tokens = Tokens(bm25.analyser)

    def missing(self, passages: Sequence[Passage]) -> list[Passage]:
        """Those of the passages that the collection does not have.

        Raises:
            DuplicateId: it has another passage with the same id.
        """
        ids = [_point_of(passage.id) for passage in passages]
        found = self._connection.call("retrieve", ids=ids, with_payload=["id", "title", "text"])
        there = {id: (title, text) for id, title, text in (values_of(p, "id", "title", "text") for p in found)}
        for passage in passages:
            if there.get(passage.id, (passage.title, passage.text)) != (passage.title, passage.text):
                raise DuplicateId(passage.id)
        return [passage for passage in passages if passage.id not in there]

    def write(self, passages: Sequence[Passage], rows: Sequence[int]) -> None:
        """Encode passages and send them; they are searched when this returns.

        Args:
            passages: The passages, at least one.
            rows: Their places in the corpus, which decide between passages of equal scores.
        """
        sparse = self._statistics.vectors(map(self._tokens, passages), self._bm25.k1, self._bm25.b, self._bm25.moved)
        vectors: list[dict[str, Any]] = [{"bm25": vector} if vector.indices else {} for vector in sparse]
        if self._dense:
            for found, vector in zip(vectors, self._dense.encode_passages(passages, self._batch_size), strict=True):
                found["dense"] = vector.tolist()
        if self._late:
            tokens, lengths = self._late.encode_passages(list(map(joined, passages)), self._batch_size)
            for found, table in zip(vectors, tokens.float().split(lengths), strict=True):
                found["colbert"] = table.tolist()
        points = [
            models.PointStruct(
                id=_point_of(passage.id),
                vector=vector,
                payload={"id": passage.id, "title": passage.title, "text": passage.text, "row": row},
            )
            for passage, vector, row in zip(passages, vectors, rows, strict=True)
        ]
        self._connection.call("upsert", points=points, wait=True)


@dataclass(frozen=True)
class Settings:
    """How a collection is built; see `retrieval.qdrant.Qdrant.build`."""

    analyser: Analyser
    k1: float
    b: float
    approximate: bool
    doc_maxlen: int
    datatype: str
    batch_size: int

    def __post_init__(self) -> None:
        check_weights(self.k1, self.b)
        if self.batch_size < 1 or self.datatype not in DATATYPES:
            raise UsageError(
                f"batches have at least 1 passage and ColBERT's vectors are of {' or '.join(DATATYPES)}, not "
                f"{self.batch_size} and {self.datatype!r}"
            )


def write_collection(
    connection: Connection,
    passages: Iterable[Passage],
    settings: Settings,
    dense: LoadedEncoder | None,
    late: "Checkpoint | None",
    *,
    resume: bool,
    overwrite: bool,
    progress: Progress,
) -> None:
    """Write a collection; see `retrieval.qdrant.Qdrant.build`."""
    _check_target(connection, overwrite)
    size = settings.batch_size
    with TemporaryDirectory() as folder:
        digest, statistics = _count(passages, Path(folder), settings.analyser)
        description = _describe(digest, statistics, settings, dense, late)
        with _changing(connection):
            goes_on = _begin(connection, description, resume, late.dim if late else 0)
            if not connection.embedded:  # which has no such indexes
                connection.call("create_payload_index", field_name="row", field_schema=models.PayloadSchemaType.INTEGER)
            writer = Writer(connection, description.bm25, statistics, dense, late, size)
            _write_statistics(connection, statistics)
            corpus = Corpus(Path(folder))
            for begin in progress(range(0, len(corpus), size), desc="indexing"):
                rows = {corpus.passage(row): row for row in range(begin, min(begin + size, len(corpus)))}
                left = writer.missing(list(rows)) if goes_on else list(rows)
                if left:
                    writer.write(left, [rows[passage] for passage in left])
            connection.call("update_collection", metadata=description.metadata(finished=True))


def _describe(
    digest: str, statistics: Statistics, settings: Settings, dense: LoadedEncoder | None, late: "Checkpoint | None"
) -> Description:
    analyser = settings.analyser
    return Description(
        format=FORMAT,
        finished=False,
        passages=statistics.passages,
        counted=statistics.passages,
        corpus=digest,
        bm25=BM25Part(
            k1=settings.k1,
            b=settings.b,
            analyser=analyser,
            probe=tokens_of_probe(analyser),
            tokens=statistics.tokens,
            different=len(statistics.frequencies),
            moved=statistics.moved(),
        ),
        dense=DensePart(encoder=dense.encoder, approximate=settings.approximate, probe=dense.probe().ravel().tolist())
        if dense
        else None,
        colbert=ColBERTPart(
            checkpoint=late.name,
            doc_maxlen=settings.doc_maxlen,
            datatype=settings.datatype,
            probe=late.probe().tolist(),
        )
        if late
        else None,
    )


@contextmanager
def _changing(connection: Connection) -> Iterator[None]:
    """A directory has no checksums while a collection in it is changed in the block, nor after a block that raises."""
    if connection.path:
        remove_checksums(connection.path, connection.collection)
    yield
    if connection.path:
        note_checksums(connection.path, connection.collection)


def _check_target(connection: Connection, overwrite: bool) -> None:
    """Check that the collection may be written."""
    metadata = connection.description()
    if metadata is None:
        return
    if NAME not in metadata:
        raise UsageError(f"{connection} exists and was built by something else: choose another name")
    if not overwrite and checked(connection, metadata).finished:
        raise UsageError(f"{connection} exists: choose another name, or say --overwrite (overwrite=True)")


def _count(passages: Iterable[Passage], folder: Path, analyser: Analyser) -> tuple[str, Statistics]:
    """Write the passages to a folder; returns their digest and what BM25 must know of all of them."""
    digest, statistics, tokens = hashlib.sha256(), Statistics(), Tokens(analyser)
    with LineWriter(folder / CORPUS) as lines:
        for passage in checked_passages(passages):
            line = passage_line(passage)
            lines.write(line)
            digest.update(line)
            statistics.add(tokens(passage))
    if not statistics.tokens:
        raise UsageError("there is nothing to index: no passages, or none with a word that is not a stop word")
    return digest.hexdigest(), statistics


def _begin(connection: Connection, description: Description, resume: bool, late_dim: int) -> bool:
    """Make the collection, unless an unfinished build of the same is there; returns whether it is."""
    metadata = connection.description()
    if metadata is not None:
        known = checked(connection, metadata) if resume else None
        if known and not known.finished:
            if settings_of(known) == settings_of(description):
                return True
            raise UsageError(
                f"{connection} has an unfinished build of other passages or with other settings, with "
                f"{built_with(known)}: give those to finish it, or build without resuming to delete it"
            )
        connection.call("delete_collection")
    dense, colbert = description.dense, description.colbert
    vectors = {}
    if dense:
        # Without links there is no graph of neighbours: a server then compares the query with every vector.
        links = None if dense.approximate else models.HnswConfigDiff(m=0)
        vectors["dense"] = models.VectorParams(
            size=len(dense.probe) // 2, distance=models.Distance.DOT, hnsw_config=links
        )
    if colbert:
        vectors["colbert"] = models.VectorParams(
            size=late_dim,
            distance=models.Distance.DOT,
            datatype=models.Datatype(colbert.datatype),
            multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
            hnsw_config=models.HnswConfigDiff(m=0),  # it only ranks what the others found
        )
    connection.call(
        "create_collection",
        vectors_config=vectors,
        sparse_vectors_config={"bm25": models.SparseVectorParams()},
        metadata=description.metadata(),
    )
    if NAME not in (connection.description() or {}):
        connection.call("delete_collection")
        raise UsageError("the Qdrant server keeps no metadata of collections: it must be of version 1.16 or newer")
    return False


def _read_statistics(connection: Connection, description: Description) -> Statistics:
    """The statistics that the weights of BM25 were made of when the collection was built."""
    statistics = Statistics(description.counted, description.bm25.tokens)
    for n in range(-(-description.bm25.different // _TOKENS)):
        found = connection.call("retrieve", ids=[_part(n)], with_payload=True)
        if not found:
            raise RetrievalError(f"{connection} has lost the statistics of BM25: build it again")
        statistics.frequencies.update(*values_of(found[0], "frequencies"))
    return statistics


def _write_statistics(connection: Connection, statistics: Statistics) -> None:
    for n, frequencies in enumerate(statistics.parts(_TOKENS)):
        point = models.PointStruct(id=_part(n), vector={}, payload={"frequencies": frequencies})
        connection.call("upsert", points=[point], wait=True)


def _part(n: int) -> str:
    return str(uuid5(_NAMESPACE, f"statistics:{n}"))


def update_collection(
    connection: Connection,
    description: Description,
    add: Iterable[Passage],
    delete: Iterable[str],
    dense: LoadedEncoder | None,
    late: "Checkpoint | None",
    batch_size: int,
) -> None:
    """Change a collection; see `retrieval.qdrant.Qdrant.update`."""
    ids = list(dict.fromkeys(delete))
    _check_there(connection, ids)
    passages = checked_passages(add)
    first = list(islice(passages, batch_size))
    if ids and not first and len(ids) == connection.passages():
        raise UsageError("there is nothing to index: no passage would be left")
    # From the first change on it is another collection, also when the change is cut short.
    description = description.model_copy(update={"corpus": f"changed:{uuid4().hex}"})
    with _changing(connection):
        connection.call("update_collection", metadata=description.metadata())
        for begin in range(0, len(ids), _POINTS):
            points = [_point_of(id) for id in ids[begin : begin + _POINTS]]
            connection.call("delete", points_selector=models.PointIdsList(points=points), wait=True)
        if first:
            statistics = _read_statistics(connection, description)
            writer = Writer(connection, description.bm25, statistics, dense, late, batch_size)
            _add(connection, writer, chain(first, passages), batch_size)
        connection.call("update_collection", metadata=description.metadata(passages=connection.passages()))


def _check_there(connection: Connection, ids: Sequence[str]) -> None:
    missing: list[str] = []
    for begin in range(0, len(ids), _POINTS):
        some = ids[begin : begin + _POINTS]
        found = connection.call("retrieve", ids=[_point_of(id) for id in some], with_payload=["id"])
        missing += sorted({*some} - {id for point in found for id in values_of(point, "id")})
    refuse_missing(missing)


def _add(connection: Connection, writer: Writer, passages: Iterator[Passage], batch_size: int) -> None:
    order = models.OrderBy(key="row", direction=models.Direction.DESC)
    last, _ = connection.call("scroll", scroll_filter=PASSAGES, order_by=order, limit=1, with_payload=["row"])
    row = values_of(last[0], "row")[0] + 1 if last else 0
    while some := list(islice(passages, batch_size)):
        if missing := writer.missing(some):
            writer.write(missing, range(row, row + len(missing)))
            row += len(missing)
