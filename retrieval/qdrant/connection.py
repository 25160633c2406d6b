"""Calls to Qdrant: one client per server or directory, retries, and errors of one line."""

import atexit
import json
import pickle
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import httpx

from retrieval.errors import RetrievalError, UsageError
from retrieval.http import TRY_AGAIN, one_line, parse_url, seconds_to_wait, status_text
from retrieval.qdrant.address import is_url

try:
    from qdrant_client import QdrantClient, models
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
except ModuleNotFoundError as error:
    raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[qdrant]'") from error

__all__ = ["Connection", "models"]

_PAGE = 256  # points in one reply
_LONGEST_WAIT = 30.0  # seconds between two attempts, whatever the server asks for
_REFUSED = {401, 403}
# What the rows of a directory may be made of. They are pickles, which could name anything that Python can import.
_CLASSES = {
    ("qdrant_client.http.models.models", "PointStruct"),
    ("qdrant_client.http.models.models", "SparseVector"),
}

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
        UsageError: the URL is malformed, a setting out of range, there is no such directory, or another process has it
            open.
        RetrievalError: the directory is damaged.
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

    def scroll(self, only: models.Filter, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The payloads of points, in no order.

        Args:
            only: Which points.
            fields: What of their payloads.
        """
        offset = None
        while True:
            found, offset = self.call("scroll", scroll_filter=only, limit=_PAGE, offset=offset, with_payload=fields)
            yield from (point.payload for point in found)
            if offset is None:
                return

    def call(self, name: str, **arguments: Any) -> Any:
        """Call the client's function of this name with the collection's name, again where that may help.

        Raises:
            UsageError: the server refuses the key, or asks for one.
            RetrievalError: the server is down or too slow, refuses the request, or answers nonsense.
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
                problem = self._failure(error.source)
            except json.JSONDecodeError as error:
                problem = self._failure(error)
            if attempt < self._retries:
                time.sleep(seconds_to_wait(attempt, self._backoff, wait, _LONGEST_WAIT))
        raise RetrievalError(problem)

    def _failure(self, source: Exception) -> str:
        match source:
            case httpx.ConnectError() | httpx.ConnectTimeout():
                return f"no Qdrant server answers at {self._shown} ({one_line(source)})"
            case httpx.TimeoutException():
                return f"the server at {self._shown} did not answer within {self._timeout:g} s"
            case httpx.TransportError():
                return f"the server at {self._shown} broke off ({one_line(source)})"
            case _:
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
    path = path.resolve()
    with _opening:
        client = _embedded.get(path)
        if client is None:
            if path.exists() and not (path / "meta.json").is_file() and (not path.is_dir() or any(path.iterdir())):
                raise UsageError(f"{path} is no directory of Qdrant: choose another one")
            if not create and not path.exists():
                raise UsageError(
                    f"there is no Qdrant collection in {path}: build one with `python -m retrieval index --backend "
                    "qdrant`"
                )
            _check_rows(path)
            try:
                client = QdrantClient(path=str(path))
            except RuntimeError as error:
                raise UsageError(
                    f"{path} is open in another process, and only one can have it: start a Qdrant server for several"
                ) from error
            except (OSError, ValueError, KeyError, sqlite3.Error) as error:
                raise RetrievalError(f"{path} is damaged: {one_line(error)}") from error
            _embedded[path] = client
        return client


def _check_rows(path: Path) -> None:
    """Check that the rows of a directory, which Qdrant's client unpickles, hold nothing but points."""
    for file in sorted(path.glob("collection/*/storage.sqlite")):
        try:
            with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as rows:
                for (row,) in rows.execute("SELECT point FROM points"):
                    _Points(BytesIO(row)).load()
        except (sqlite3.Error, pickle.UnpicklingError, EOFError) as error:
            raise RetrievalError(f"{file} is damaged, or no file of Qdrant: {one_line(error)}") from error


class _Points(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"its rows name {module}.{name}")
        return super().find_class(module, name)
