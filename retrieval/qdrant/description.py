"""What a collection was built with, kept in its metadata under the key `NAME`.

format, finished, passages
counted                         how many passages the statistics of BM25 are of: those at building
corpus                          the digest of the passages; another one after each change
bm25                            k1, b, analyser, probe (the tokens of a fixed text), tokens (how many all counted
                                passages have together), different (how many different ones), moved (those whose
                                number is another one than their hash)
dense                           encoder, approximate, probe; null without
colbert                         checkpoint, doc_maxlen, datatype, probe; null without
"""

import hashlib
import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from odqa.errors import RetrievalError, UsageError
from retrieval.bm25.analyser import Analyser
from retrieval.dense.encoder import Encoder
from retrieval.qdrant.connection import Connection

__all__ = [
    "FORMAT",
    "NAME",
    "BM25Part",
    "ColBERTPart",
    "DensePart",
    "Description",
    "built_with",
    "checked",
    "fingerprint",
    "read",
    "settings_of",
]

NAME = "dspy-odqa"
FORMAT = 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class BM25Part(_Part):
    """What BM25's vectors were made with."""

    k1: float
    b: float
    analyser: Analyser
    probe: list[str]
    tokens: Annotated[int, Field(ge=1)]
    different: Annotated[int, Field(ge=1)]
    moved: dict[str, Annotated[int, Field(ge=0, lt=2**32)]]


class DensePart(_Part):
    """What the dense vectors were made with."""

    encoder: Encoder
    approximate: bool
    probe: list[float]


class ColBERTPart(_Part):
    """What ColBERT's vectors were made with."""

    checkpoint: str
    doc_maxlen: int
    datatype: str
    probe: list[float]


class Description(_Part):
    """What a collection was built with; the module says what each field is."""

    format: int
    finished: bool
    passages: int
    counted: Annotated[int, Field(ge=1)]
    corpus: str
    bm25: BM25Part
    dense: DensePart | None
    colbert: ColBERTPart | None

    def metadata(self, **changes: Any) -> dict[str, Any]:
        """What is kept with the collection: the description, with these fields changed."""
        return {NAME: self.model_copy(update=changes).model_dump(mode="json")}


def read(connection: Connection) -> Description:
    """The description of a collection that can be searched.

    Raises:
        UsageError: there is no such collection, or it is not ours, of another format or not finished.
        RetrievalError: the description is damaged, or the server could not answer.
    """
    metadata = connection.description()
    if metadata is None:
        raise UsageError(f"there is no {connection}: build it with `odqa index --backend qdrant`")
    if NAME not in metadata:
        raise UsageError(f"{connection} is no index of this project: build one with `odqa index --backend qdrant`")
    description = checked(connection, metadata)
    if not description.finished:
        raise UsageError(f"{connection} is not finished: start the same build again to go on with it")
    return description


def checked(connection: Connection, metadata: dict[str, Any]) -> Description:
    """The description in the metadata of a collection of ours: whoever may write to a server can have changed it.

    Raises:
        UsageError: it is of another format.
        RetrievalError: it is damaged.
    """
    description = metadata[NAME]
    if isinstance(description, dict) and isinstance(found := description.get("format"), int) and found != FORMAT:
        raise UsageError(f"{connection} has format {found}, this version reads {FORMAT}: build it again")
    try:
        return Description.model_validate_json(json.dumps(description))  # in JSON a list may be a tuple
    except ValidationError as error:
        part = ".".join(map(str, error.errors()[0]["loc"]))
        raise RetrievalError(
            f"the description of {connection} is damaged{part and f' in {part}'}: build it again, with --overwrite "
            "--no-resume"
        ) from error


def fingerprint(connection: Connection) -> str:
    """Tells the collection, with what is in it, from others: a hash of its description.

    Raises:
        UsageError: there is no finished collection.
        RetrievalError: the server could not answer.
    """
    return hashlib.sha256(json.dumps(read(connection).metadata()[NAME], sort_keys=True).encode()).hexdigest()


def settings_of(description: Description) -> dict[str, Any]:
    """What must be the same for a build to go on with another one. Vectors differ a little between machines."""
    probes = {"bm25": {"probe"}, "dense": {"probe"}, "colbert": {"probe"}}
    return description.model_dump(exclude={"finished": True, "counted": True, **probes})


def built_with(description: Description) -> str:
    """The models and settings, for messages."""
    bm25, dense, colbert = description.bm25, description.dense, description.colbert
    parts = [f"BM25 (k1 {bm25.k1:g}, b {bm25.b:g}, stemmer {bm25.analyser.stemmer or 'none'})"]
    if dense:
        parts.append(f"the encoder {dense.encoder.model}")
    if colbert:
        parts.append(f"the ColBERT checkpoint {colbert.checkpoint}")
    return f"{', '.join(parts)}, {description.passages:,} passages"
