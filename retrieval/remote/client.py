"""A client for search servers that speak the ColBERTv2 wire protocol.

The protocol is that of `dspy.ColBERTv2`, and of the server that DSPy's tutorials used::

    GET URL?query=…&k=…                      -> {"topk": [{"text": "Title | text", "pid": 7, "score": 21.5, …}, …]}
    POST URL/batch {"queries": […], "k": …}  -> {"topk": [[{…}, …], …]}        only our own server has this

`odqa serve-passages` starts such a server.
"""

import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, NamedTuple, TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from odqa.deadlines import until
from odqa.errors import RetrievalError, UsageError
from odqa.http import TRY_AGAIN, asked_wait, bounded, one_line, parse_url, seconds_to_wait, status_text
from retrieval.base import Retriever
from retrieval.passage import Passage, union

__all__ = ["ColBERTv2"]

_LARGEST_K = 100  # the protocol's
_LONGEST_QUERY = 4_000  # characters; as many fit into a URL whatever they are, and encoders read far fewer
_LARGEST_REPLY = 64 * 2**20  # bytes
_LONGEST_WAIT = 30.0  # seconds between two attempts, whatever the server asks for
_BATCH = 16  # queries in one request
_SIDE_BY_SIDE = 8  # requests at once to a server without a batch endpoint
_NO_BATCH = {404, 405, 501}


class _Item(BaseModel):
    model_config = ConfigDict(strict=True)
    text: str
    pid: int | str
    score: Annotated[float, Field(allow_inf_nan=False)]


class _Reply(BaseModel):
    topk: list[_Item]


class _BatchReply(BaseModel):
    topk: list[list[_Item]]


class _ErrorReply(BaseModel):
    error: Any = None
    message: Any = ""


_R = TypeVar("_R", _Reply, _BatchReply)


class _Answer(NamedTuple):
    status: int
    retry_after: float  # seconds, 0.0 where the server does not say
    body: bytes


class ColBERTv2(Retriever):
    """Searches on a server that speaks the ColBERTv2 wire protocol, as `dspy.ColBERTv2` does.

    Safe for many threads; connections are kept open and shared. A batch is sent to the server's batch endpoint, or as
    single requests side by side if it has none.

    A passage's text is split at the first `` | `` into title and text, because these servers join them so. Characters
    that a query cannot hold but LMs now and then write (NUL, lone surrogates) are replaced. Of a query longer than
    4,000 characters only the beginning is sent.

    Args:
        url: Where the server answers searches: ``http://127.0.0.1:8893``, ``http://host:8893/api/search``. A
            ``user:password@`` before the host is sent as basic authentication and kept out of every message.
        timeout: Seconds that an attempt may take to connect, and then to answer.
        retries: How often to try again after a failed connection, a timeout, a reply that breaks off, or a status
            408, 429, 500, 502, 503 or 504.
        backoff: Seconds before the first retry, doubled for each further one, less a random part of up to a half. If
            the server asks for more (Retry-After), that counts; never more than 30.

    Raises:
        UsageError: the URL is malformed, a setting out of range, or (in searches) `k` above 100, the protocol's limit.
        RetrievalError: (in searches) the server is down or too slow, refuses the search, or answers nonsense.
    """

    def __init__(self, url: str, *, timeout: float = 10.0, retries: int = 3, backoff: float = 0.5) -> None:
        if not (timeout > 0 and retries >= 0 and backoff >= 0):
            raise UsageError(
                f"timeout must be above 0, retries and backoff 0 or more, not {timeout}, {retries}, {backoff}"
            )
        self._url, auth = parse_url(url, "http://127.0.0.1:8893")
        self._shown = str(self._url.copy_with(query=None))  # a query may hold a key
        self._batch_url = self._url.copy_with(path=self._url.path.rstrip("/") + "/batch")
        self._timeout = timeout
        self._retries = retries
        self._backoff = backoff
        self._has_batch = True  # until the server says otherwise
        self._client = bounded(
            httpx.Client(auth=auth, timeout=timeout, follow_redirects=True, limits=httpx.Limits(max_connections=None))
        )
        weakref.finalize(self, self._client.close)

    def search(self, query: str, k: int) -> list[Passage]:
        _check(k)
        answer = self._ask("GET", self._url.copy_merge_params({"query": _sendable(query), "k": k}))
        return _passages(self._read(answer, _Reply).topk, k)

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        _check(k)
        found: list[list[Passage]] = []
        while self._has_batch and len(found) < len(queries):
            part = [_sendable(query) for query in queries[len(found) : len(found) + _BATCH]]
            answer = self._ask("POST", self._batch_url, json={"queries": part, "k": k})
            if answer.status in _NO_BATCH:
                self._has_batch = False
                break
            lists = self._read(answer, _BatchReply).topk
            if len(lists) != len(part):
                raise RetrievalError(f"the server at {self._shown} sent {len(lists)} results for {len(part)} queries")
            found += [_passages(items, k) for items in lists]
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            return found + list(pool.map(lambda query: self.search(query, k), queries[len(found) :]))

    def _ask(self, method: str, url: httpx.URL, **options: Any) -> _Answer:
        """The server's answer to a request, tried again where that may help."""
        for attempt in range(self._retries + 1):
            wait = 0.0
            try:
                answer = self._attempt(method, url, **options)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                problem = (
                    f"no ColBERTv2 server answers at {self._shown} ({one_line(error)}); "
                    "start one with `odqa serve-passages bm25:DIR`"
                )
            except httpx.TimeoutException:
                problem = f"the server at {self._shown} did not answer within {self._timeout:g} s"
            except httpx.TransportError as error:
                problem = f"the server at {self._shown} broke off ({one_line(error)})"
            except httpx.RequestError as error:
                raise RetrievalError(f"the server at {self._shown} answers nonsense ({one_line(error)})") from error
            else:
                if answer.status not in TRY_AGAIN:
                    return answer
                problem = self._refusal(answer)
                wait = answer.retry_after
            if attempt < self._retries:
                time.sleep(seconds_to_wait(attempt, self._backoff, wait, _LONGEST_WAIT))
        raise RetrievalError(problem)

    def _attempt(self, method: str, url: httpx.URL, **options: Any) -> _Answer:
        """One request; the reply is read here because httpx bounds neither its size nor the time it takes in all."""
        late = time.monotonic() + self._timeout
        body = bytearray()
        with until(late), self._client.stream(method, url, **options) as response:
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _LARGEST_REPLY:
                    raise RetrievalError(f"the server at {self._shown} sent more than {_LARGEST_REPLY:,} bytes")
                if time.monotonic() > late:
                    raise httpx.ReadTimeout("the reply takes too long")
        return _Answer(response.status_code, asked_wait(response.headers), bytes(body))

    def _read(self, answer: _Answer, form: type[_R]) -> _R:
        if answer.status != 200:
            raise RetrievalError(self._refusal(answer))
        try:
            refused = _ErrorReply.model_validate_json(answer.body)
            reply = None if refused.error else form.model_validate_json(answer.body)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            problem = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
            raise RetrievalError(
                f"the server at {self._shown} answers nonsense ({problem}); does it speak the ColBERTv2 protocol?"
            ) from error
        if reply is None:
            raise RetrievalError(f"the server at {self._shown} reports an error: {one_line(refused.message)}")
        return reply

    def _refusal(self, answer: _Answer) -> str:
        try:
            reason = one_line(_ErrorReply.model_validate_json(answer.body).message)
        except ValidationError:
            reason = ""
        return f"the server at {self._shown} answers {status_text(answer.status)}" + (f": {reason}" if reason else "")


def _check(k: int) -> None:
    if k > _LARGEST_K:
        raise UsageError(f"ColBERTv2 servers find at most {_LARGEST_K} passages, ask for a smaller k than {k}")


def _sendable(query: str) -> str:
    return query[:_LONGEST_QUERY].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")


def _passages(items: Sequence[_Item], k: int) -> list[Passage]:
    return union(map(_passage, items))[:k]


def _passage(item: _Item) -> Passage:
    title, bar, text = item.text.partition(" | ")
    return Passage(str(item.pid), text, title, item.score) if bar else Passage(str(item.pid), title, "", item.score)
