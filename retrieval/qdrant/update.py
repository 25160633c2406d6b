"""Deleting passages from a collection and adding others, point by point."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING
from uuid import uuid4

from odqa.errors import UsageError
from retrieval.dense.encoder import LoadedEncoder
from retrieval.indexes import checked_passages, refuse_missing
from retrieval.passage import Passage
from retrieval.qdrant.build import PASSAGES, Writer, point_of, read_statistics
from retrieval.qdrant.connection import Connection, models, values_of
from retrieval.qdrant.description import Description

if TYPE_CHECKING:
    from retrieval.qdrant.late import LateEncoder

__all__ = ["update_collection"]

_POINTS = 256  # in one request


def update_collection(
    connection: Connection,
    description: Description,
    add: Iterable[Passage],
    delete: Iterable[str],
    dense: LoadedEncoder | None,
    late: "LateEncoder | None",
    batch_size: int,
) -> None:
    """Change a collection; see `retrieval.qdrant.Qdrant.update`."""
    ids = list(dict.fromkeys(delete))
    _check_there(connection, ids)
    passages = checked_passages(add)
    first = list(islice(passages, batch_size))
    if ids and not first and len(ids) == _count(connection):
        raise UsageError("there is nothing to index: no passage would be left")
    # From the first change on it is another collection, also when the change is cut short.
    description = description.model_copy(update={"corpus": f"changed:{uuid4().hex}"})
    connection.call("update_collection", metadata=description.metadata())
    for begin in range(0, len(ids), _POINTS):
        points = [point_of(id) for id in ids[begin : begin + _POINTS]]
        connection.call("delete", points_selector=models.PointIdsList(points=points), wait=True)
    if first:
        statistics = read_statistics(connection, description)
        writer = Writer(connection, description.bm25, statistics, dense, late, batch_size)
        _add(connection, writer, chain(first, passages), batch_size)
    connection.call("update_collection", metadata=description.metadata(passages=_count(connection)))


def _count(connection: Connection) -> int:
    return int(connection.call("count", count_filter=PASSAGES, exact=True).count)


def _check_there(connection: Connection, ids: Sequence[str]) -> None:
    missing: list[str] = []
    for begin in range(0, len(ids), _POINTS):
        some = ids[begin : begin + _POINTS]
        found = connection.call("retrieve", ids=[point_of(id) for id in some], with_payload=["id"])
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
