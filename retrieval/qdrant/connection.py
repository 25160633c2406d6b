"""Calls to Qdrant: one client per server or directory, retries, and errors of one line."""

import atexit
import json
import pickle
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from odqa.errors import OdqaError, RetrievalError, UsageError
from odqa.extras import needing
from odqa.files import read_whole, resolved
from odqa.http import TRY_AGAIN, one_line, parse_url
from retrieval.qdrant.address import is_url
from retrieval.servers import Again, Server

with needing("qdrant"):
    from qdrant_client import QdrantClient, models
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
    from qdrant_client.local import persistence

__all__ = ["PASSAGES", "Connection", "models", "values_of"]

PASSAGES = models.Filter(must=[models.FieldCondition(key="row", range=models.Range(gte=0))])
"""The points that are passages."""

_PAGE = 256  # points in one reply
_REFUSED = {401, 403}
# What the rows of a directory may be made of. They are pickles, which could name anything that Python can import.
_CLASSES = {
    ("qdrant_client.http.models.models", "PointStruct"),
    ("qdrant_client.http.models.models", "SparseVector"),
}

_NO_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f]|^\.{0,2}$')  # of a collection: it is a part of paths and URLs
_TYPES = {"id": str, "title": str, "text": str, "row": int, "frequencies": dict}

_embedded: WeakValueDictionary[Path, QdrantClient] = WeakValueDictionary()
_opening = Lock()


class Connection:
    """Makes calls about one collection. Safe for many threads; retrievers over the same directory share its client.

    Args:
        location: URL of the server (``user:password@`` before the host is sent as basic authentication), or directory.
        api_key: Key of the server; None if it asks for none.
        timeout, retries, backoff: See `retrieval.servers.Server`.
        create: Whether a directory may be made.

    Raises:
        UsageError: the URL is malformed, no collection can have that name, a setting is out of range, there is no such
            directory, or another process has it open.
        RetrievalError: the directory is damaged, or may not be written to.
    """

    def __init__(
        self,
        location: str | Path,
        collection: str,
        *,
        api_key: str | None = None,
        timeout: float = 10.0,
        retries: int = 3,
        backoff: float = 0.5,
        create: bool = False,
    ) -> None:
        if _NO_NAME.search(collection):
            raise UsageError(f"no collection can have the name {collection!r}: use letters, digits, - and _")
        self.collection, self.embedded = collection, not is_url(str(location))
        self.path: Path | None = None
        self._server: Server | None = None
        if self.embedded:
            self.path = Path(location)
            self._client = _open_directory(self.path, create)
        else:
            url, auth = parse_url(str(location), "http://127.0.0.1:6333?collection=wiki")
            self._server = Server("Qdrant", str(url), timeout=timeout, retries=retries, backoff=backoff)
            self._client = QdrantClient(
                url=str(url).rstrip("/"), api_key=api_key, timeout=timeout, auth=auth, check_compatibility=False
            )
            self._server.bound(self._client.http.client._client)

    def __str__(self) -> str:
        return f"collection {self.collection!r} in {self._server.shown if self._server else self.path}"

    def exists(self) -> bool:
        return bool(self.call("collection_exists"))

    def description(self) -> dict[str, Any] | None:
        """What is known of the collection: the metadata that are kept with it; None if there is none."""
        return dict(self.call("get_collection").config.metadata or {}) if self.exists() else None

    def passages(self) -> int:
        """How many passages it has."""
        return int(self.call("count", count_filter=PASSAGES, exact=True).count)

    def ids(self) -> Iterator[str]:
        """The ids of all passages, in no order."""
        offset = None
        while True:
            found, offset = self.call("scroll", scroll_filter=PASSAGES, limit=_PAGE, offset=offset, with_payload=["id"])
            for point in found:
                yield from values_of(point, "id")
            if offset is None:
                return

    def call(self, name: str, **arguments: Any) -> Any:
        """Call the client's function of this name with the collection's name, again where that may help.

        Raises:
            UsageError: the server refuses the key, or asks for one.
            RetrievalError: the server is down or too slow, refuses the request, or answers nonsense; a directory is
                damaged or cannot be written to.
        """
        call = partial(getattr(self._client, name), collection_name=self.collection, **arguments)
        try:
            return self._server.ask(partial(_asked, self._server, call)) if self._server else call()
        except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError) as error:
            # What the client stumbles over in a reply or in a directory: it checks only a part of either.
            if isinstance(error, OdqaError):
                raise
            if self._server:
                raise RetrievalError(f"the server at {self._server.shown} answers nonsense; is it Qdrant?") from None
            raise RetrievalError(f"{self} is damaged: build it again ({one_line(error)})") from error
        except sqlite3.Error as error:
            raise RetrievalError(f"{self} cannot be read or written: {one_line(error)}") from error


def _asked(server: Server, call: Callable[[], Any]) -> Any:
    """What a call gives; the client's errors become those that `Server.ask` knows."""
    try:
        return call()
    except QdrantException as error:  # 429 with a Retry-After; the client understands no dates there
        raise Again(server.refusal(429, ""), float(getattr(error, "retry_after_s", 0))) from error
    except UnexpectedResponse as error:
        status, reason = error.status_code or 0, ""
        with suppress(ValueError, TypeError, KeyError):
            reason = one_line(json.loads(error.content)["status"]["error"])
        problem = server.refusal(status, reason)
        if status in _REFUSED:
            raise UsageError(f"{problem}: put the right API key into the environment variable QDRANT_API_KEY") from None
        raise (Again(problem) if status in TRY_AGAIN else RetrievalError(problem)) from None
    except ResponseHandlingException as error:
        raise error.source from None


@atexit.register
def _close() -> None:
    # When the interpreter has gone further, the client can no longer close itself.
    for client in list(_embedded.values()):
        client.close()


def _open_directory(path: Path, create: bool) -> QdrantClient:
    """The client of a directory; one per process, because a directory can be opened once."""
    path = resolved(path)
    with _opening:
        client = _embedded.get(path)
        if client is None:
            if path.exists() and not (path / "meta.json").is_file() and (not path.is_dir() or any(path.iterdir())):
                raise UsageError(f"{path} is no directory of Qdrant: choose another one")
            if not create and not path.exists():
                raise UsageError(
                    f"there is no Qdrant collection in {path}: build one with `odqa index --backend qdrant`"
                )
            try:
                _check_names(path / "meta.json")
                with _unpickling_points():
                    client = QdrantClient(path=str(path))
            except Exception as error:  # of whatever kind: the client does not check what it reads
                if isinstance(error, RuntimeError) and "already accessed" in str(error):
                    raise UsageError(
                        f"{path} is open in another process, and only one can have it: start a Qdrant server for "
                        "several"
                    ) from error
                reason = one_line(error) or type(error).__name__
                raise RetrievalError(f"{path} is damaged, or may not be written to: {reason}") from error
            _embedded[path] = client
        return client


def _check_names(meta: Path) -> None:
    """Check that the collections of a directory are in it: the client makes paths of their names."""
    names = json.loads(read_whole(meta))["collections"] if meta.exists() else ()
    if wrong := [name for name in names if _NO_NAME.search(name)]:
        raise ValueError(f"no collection can have the name {wrong[0]!r}")


@contextmanager
def _unpickling_points() -> Iterator[None]:
    """While Qdrant's client reads the rows of a directory, it can unpickle nothing but points.

    To read the rows before it does would not be enough: a view of SQLite may give others the second time.
    """
    persistence.pickle = _PicklingPoints
    try:
        yield
    finally:
        persistence.pickle = pickle


class _PicklingPoints:
    """What Qdrant's client uses of the module `pickle`."""

    dumps = staticmethod(pickle.dumps)

    @staticmethod
    def loads(row: bytes) -> Any:
        return _Points(BytesIO(row)).load()


class _Points(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"its rows name {module}.{name}")
        return super().find_class(module, name)


def values_of(point: Any, *names: str) -> list[Any]:
    """The values of a point's payload with these names: id, title, text, row, frequencies.

    Raises:
        RetrievalError: it has none, or one of another type.
    """
    payload = point.payload or {}
    if wrong := [name for name in names if type(payload.get(name)) is not _TYPES[name]]:
        raise RetrievalError(
            f"the point {point.id} has no good {wrong[0]}, another program has changed it: build the collection again"
        )
    return [payload[name] for name in names]
