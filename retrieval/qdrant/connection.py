"""Calls to Qdrant: one client per server or directory, retries, and errors of one line."""

import atexit
import json
import pickle
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import httpx

from odqa.errors import RetrievalError, UsageError
from odqa.files import read_whole, resolved
from odqa.http import TRY_AGAIN, one_line, parse_url, seconds_to_wait, status_text
from retrieval.qdrant.address import is_url

try:
    from qdrant_client import QdrantClient, models
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
    from qdrant_client.local import persistence
except ModuleNotFoundError as error:
    raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[qdrant]'") from error

__all__ = ["Connection", "models", "values_of"]

_PAGE = 256  # points in one reply
_LONGEST_WAIT = 30.0  # seconds between two attempts, whatever the server asks for
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
        collection: Name of the collection.
        api_key: Key of the server; None if it asks for none.
        timeout: Seconds that an attempt may take to connect, and then to answer; rounded up.
        retries: How often to try again after a failed connection, a timeout, a reply that breaks off, or a status
            408, 429, 500, 502, 503 or 504.
        backoff: Seconds before the first retry, doubled for each further one, less a random part of up to a half. If
            the server asks for more (Retry-After), that counts; never more than 30.
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
        if not (timeout > 0 and retries >= 0 and backoff >= 0):
            raise UsageError(
                f"timeout must be above 0, retries and backoff 0 or more, not {timeout}, {retries}, {backoff}"
            )
        if _NO_NAME.search(collection):
            raise UsageError(f"no collection can have the name {collection!r}: use letters, digits, - and _")
        self.collection, self.embedded = collection, not is_url(str(location))
        self._timeout, self._retries, self._backoff = timeout, retries, backoff
        if self.embedded:
            self.path: Path | None = Path(location)
            self._shown = str(location)
            self._client = _open_directory(self.path, create)
        else:
            self.path = None
            url, auth = parse_url(str(location), "http://127.0.0.1:6333?collection=wiki")
            self._shown = str(url)
            self._client = QdrantClient(
                url=str(url).rstrip("/"), api_key=api_key, timeout=timeout, auth=auth, check_compatibility=False
            )

    def __str__(self) -> str:
        return f"collection {self.collection!r} in {self._shown}"

    def exists(self) -> bool:
        return bool(self.call("collection_exists"))

    def description(self) -> dict[str, Any] | None:
        """What is known of the collection: the metadata that are kept with it; None if there is none."""
        return dict(self.call("get_collection").config.metadata or {}) if self.exists() else None

    def scroll(self, only: models.Filter, fields: Sequence[str]) -> Iterator[Any]:
        """Points, in no order.

        Args:
            only: Which points.
            fields: What of their payloads.
        """
        offset = None
        while True:
            found, offset = self.call("scroll", scroll_filter=only, limit=_PAGE, offset=offset, with_payload=fields)
            yield from found
            if offset is None:
                return

    def call(self, name: str, **arguments: Any) -> Any:
        """Call the client's function of this name with the collection's name, again where that may help.

        Raises:
            UsageError: the server refuses the key, or asks for one.
            RetrievalError: the server is down or too slow, refuses the request, or answers nonsense; a directory is
                damaged or cannot be written to.
        """
        function: Callable[..., Any] = getattr(self._client, name)
        for attempt in range(self._retries + 1):
            wait = 0.0
            try:
                return function(collection_name=self.collection, **arguments)
            except QdrantException as error:  # 429 with a Retry-After; the client understands no dates there
                problem = f"the server at {self._shown} answers {status_text(429)}"
                wait = float(getattr(error, "retry_after_s", 0))
            except UnexpectedResponse as error:
                problem = self._refusal(error)
                if error.status_code in _REFUSED:
                    raise UsageError(
                        f"{problem}: put the right API key into the environment variable QDRANT_API_KEY"
                    ) from None
                if error.status_code not in TRY_AGAIN:
                    raise RetrievalError(problem) from None
            except ResponseHandlingException as error:
                problem = self._failure(error.source) or self._fail(error.source)
            except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError) as error:
                # What the client stumbles over in a reply or in a directory: it checks only a part of either.
                self._fail(error)
            except sqlite3.Error as error:
                raise RetrievalError(f"{self} cannot be read or written: {one_line(error)}") from error
            if attempt < self._retries:
                time.sleep(seconds_to_wait(attempt, self._backoff, wait, _LONGEST_WAIT))
        raise RetrievalError(problem)

    def _failure(self, source: Exception) -> str | None:
        match source:
            case httpx.ConnectError() | httpx.ConnectTimeout():
                return f"no Qdrant server answers at {self._shown} ({one_line(source)})"
            case httpx.TimeoutException():
                return f"the server at {self._shown} did not answer within {self._timeout:g} s"
            case httpx.TransportError():
                return f"the server at {self._shown} broke off ({one_line(source)})"
            case _:
                return None

    def _fail(self, error: Exception) -> NoReturn:
        if self.embedded:
            raise RetrievalError(f"{self} is damaged: build it again ({one_line(error)})") from error
        raise RetrievalError(f"the server at {self._shown} answers nonsense; is it Qdrant?") from None

    def _refusal(self, error: UnexpectedResponse) -> str:
        try:
            reason = one_line(json.loads(error.content)["status"]["error"])
        except (ValueError, TypeError, KeyError):
            reason = ""
        status = status_text(error.status_code or 0)
        return f"the server at {self._shown} answers {status}" + (f": {reason}" if reason else "")


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
