"""A client for search servers that speak the ColBERTv2 wire protocol.

The protocol is that of `dspy.ColBERTv2`, and of the server that DSPy's tutorials used::

    GET URL?query=…&k=…                      -> {"topk": [{"text": "Title | text", "pid": 7, "score": 21.5, …}, …]}
    POST URL/batch {"queries": […], "k": …}  -> {"topk": [[{…}, …], …]}        only our own server has this

`odqa serve-passages` starts such a server.
"""

import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from odqa.errors import RetrievalError, UsageError
from odqa.http import TRY_AGAIN, asked_wait, one_line, parse_url
from retrieval.base import Retriever
from retrieval.passage import Passage, union
from retrieval.servers import Again, Server

__all__ = ["ColBERTv2"]

_LARGEST_K = 100  # the protocol's
_LONGEST_QUERY = 4_000  # characters; as many fit into a URL whatever they are, and encoders read far fewer
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
        timeout, retries, backoff: See `retrieval.servers.Server`.

    Raises:
        UsageError: the URL is malformed, a setting out of range, or (in searches) `k` above 100, the protocol's limit.
        RetrievalError: (in searches) the server is down or too slow, refuses the search, or answers nonsense.
    """

    def __init__(self, url: str, *, timeout: float = 10.0, retries: int = 3, backoff: float = 0.5) -> None:
        self._url, auth = parse_url(url, "http://127.0.0.1:8893")
        self._batch_url = self._url.copy_with(path=self._url.path.rstrip("/") + "/batch")
        self._has_batch = True  # until the server says otherwise
        self._shown = str(self._url.copy_with(query=None))  # a query may hold a key
        start = "; start one with `odqa serve-passages bm25:DIR`"
        self._server = Server("ColBERTv2", self._shown, start=start, timeout=timeout, retries=retries, backoff=backoff)
        self._client = self._server.bound(
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
            if answer.status_code in _NO_BATCH:
                self._has_batch = False
                break
            lists = self._read(answer, _BatchReply).topk
            if len(lists) != len(part):
                raise RetrievalError(f"the server at {self._shown} sent {len(lists)} results for {len(part)} queries")
            found += [_passages(items, k) for items in lists]
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            return found + list(pool.map(lambda query: self.search(query, k), queries[len(found) :]))

    def _ask(self, method: str, url: httpx.URL, **options: Any) -> httpx.Response:
        """The server's answer to a request, tried again where that may help."""

        def attempt() -> httpx.Response:
            answer = self._client.request(method, url, **options)
            if answer.status_code in TRY_AGAIN:
                raise Again(self._refusal(answer), asked_wait(answer.headers))
            return answer

        return self._server.ask(attempt)

    def _read(self, answer: httpx.Response, form: type[_R]) -> _R:
        if answer.status_code != 200:
            raise RetrievalError(self._refusal(answer))
        try:
            refused = _ErrorReply.model_validate_json(answer.content)
            reply = None if refused.error else form.model_validate_json(answer.content)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            problem = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
            raise RetrievalError(
                f"the server at {self._shown} answers nonsense ({problem}); does it speak the ColBERTv2 protocol?"
            ) from error
        if reply is None:
            raise RetrievalError(f"the server at {self._shown} reports an error: {one_line(refused.message)}")
        return reply

    def _refusal(self, answer: httpx.Response) -> str:
        try:
            reason = one_line(_ErrorReply.model_validate_json(answer.content).message)
        except ValidationError:
            reason = ""
        return self._server.refusal(answer.status_code, reason)


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
