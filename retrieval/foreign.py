"""Other people's retrievers, and what they return, as ours."""

import hashlib
import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, SupportsFloat

from odqa.errors import UsageError
from retrieval.awaiting import result_of
from retrieval.base import Retriever
from retrieval.passage import Passage, union

__all__ = ["AnyRetriever", "as_passages", "as_retriever"]


class _Searches(Protocol):
    def search(self, query: str, k: int, /) -> Any: ...


class _SearchesBySimilarity(Protocol):  # a vector store of LangChain
    def similarity_search(self, query: str, k: int, /) -> Any: ...


class _Invoked(Protocol):  # a retriever of LangChain
    def invoke(self, query: str, /) -> Any: ...


class _Retrieves(Protocol):  # a retriever of LlamaIndex
    def retrieve(self, query: str, /) -> Any: ...


class _Runs(Protocol):  # a retriever of Haystack
    def run(self, query: str) -> Any: ...


AnyRetriever = Retriever | _Searches | _SearchesBySimilarity | _Invoked | _Retrieves | _Runs | Callable[..., Any]
"""What `as_retriever` takes."""

_METHODS = ("similarity_search", "retrieve", "invoke", "search")
_COUNTS = ("k", "top_k", "n", "limit", "size")
_TEXTS = ("text", "long_text", "page_content", "contents", "content", "passage")
_IDS = ("id", "id_", "pid", "_id", "node_id", "docno", "docid", "doc_id")


def as_retriever(searches: AnyRetriever) -> Retriever:
    """Make a retriever of anything that searches: one of ours as it is; otherwise an object with `search(query, k)`, a
    function of a query and a number, `dspy.Retrieve`, `dspy.Embeddings`, `dspy.ColBERTv2`, or a retriever or vector
    store of LangChain, LlamaIndex or Haystack.

    What cannot be told how many passages to find is asked for what it finds, and this is cut off at k. A search may be
    asynchronous: `acall` of a method awaits it in the caller's loop, a plain call in a loop of a thread.

    Raises:
        UsageError: it is none of these.
    """
    if isinstance(searches, Retriever):
        return searches
    if isinstance(searches, str | Path):
        raise UsageError(f"{str(searches)!r} is no retriever, but may name one: use retrieval.load({str(searches)!r})")
    if not isinstance(searches, type):
        for name in _METHODS:
            if callable(method := getattr(searches, name, None)):
                return _Foreign(method)
        if callable(searches):
            return _Foreign(searches)
        if callable(run := getattr(searches, "run", None)) and "query" in inspect.signature(run).parameters:
            return _Foreign(run)
    raise UsageError(
        f"{searches!r} is no retriever: give one of retrieval.load(…), an object with search(query, k), or a function "
        "of a query and a number of passages"
    )


def as_passages(found: Any) -> list[Passage]:
    """Make passages of what a search returned, each id once.

    Args:
        found: A list of passages, texts, mappings, documents of LangChain or Haystack, or nodes of LlamaIndex, also
            in pairs with their scores; a data frame with a row for each; an object that has such a list as `passages`,
            or what a retriever of Haystack returns. What has no id gets one made of its text.

    Raises:
        UsageError: it is none of these.
    """
    if inspect.isawaitable(found):
        raise UsageError("passages are given as a list, not as something to be awaited: await it first")
    found = getattr(found, "passages", found)
    if isinstance(found, Mapping):
        found = found.get("documents", found)  # as Haystack gives them
    if hasattr(found, "columns") and hasattr(found, "to_dict"):  # a data frame of pandas, as PyTerrier gives
        found = found.to_dict("records")
    if isinstance(found, str | bytes | Mapping) or not isinstance(found, Iterable):
        raise UsageError(f"passages are given as a list, not as {_kind(found)}")
    return union([_as_passage(item) for item in found])


class _Foreign(Retriever):
    """A search of somebody else's."""

    def __init__(self, search: Callable[..., Any]) -> None:
        self._search = search
        self._count = _count_of(search)

    def search(self, query: str, k: int) -> list[Passage]:
        match self._count:
            case None:
                found = self._search(query)
            case "":
                found = self._search(query, k)
            case name:
                found = self._search(query, **{name: k})
        return as_passages(result_of(found) if inspect.isawaitable(found) else found)[:k]


def _count_of(search: Callable[..., Any]) -> str | None:
    """The name of the argument that says how many passages to find; "" if it is the second; None if there is none."""
    # A dspy.Retrieve or dspy.Module says in `forward` what it takes.
    says = object.__getattribute__(search, "forward") if hasattr(type(search), "forward") else search
    try:
        parameters = inspect.signature(says).parameters
    except ValueError as error:  # some functions written in C
        raise UsageError(f"{search!r} does not say what it takes: give a function of a query and a number") from error
    for name in _COUNTS:
        if name in parameters:
            return name
    # What a vector store of LangChain made as a retriever hands `k` on to the store.
    if hasattr(getattr(search, "__self__", None), "search_kwargs"):
        return "k"
    positional = [p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return "" if len(positional) > 1 and positional[1].default is inspect.Parameter.empty else None


def _as_passage(item: Any) -> Passage:
    if isinstance(item, Passage):
        return item
    if isinstance(item, str):
        return Passage(_id_of(item), item)
    if isinstance(item, tuple) and len(item) == 2 and not isinstance(item[1], str):
        return replace(_as_passage(item[0]), score=_number(item[1]))
    if (node := getattr(item, "node", None)) is not None:  # LlamaIndex: a node and its score
        return replace(_as_passage(node), score=_number(getattr(item, "score", None)))
    fields = item if isinstance(item, Mapping) else _Attributes(item)
    more = next((value for name in ("metadata", "meta") if isinstance(value := fields.get(name), Mapping)), {})
    text = next((value for name in _TEXTS if isinstance(value := fields.get(name), str)), None)
    if text is None:
        raise UsageError(
            f"there is no passage in {_kind(item)}: give passages, texts or mappings with {', '.join(_TEXTS)}"
        )
    title = next((value for source in (fields, more) if _says(value := source.get("title"))), "")
    ids = (source.get(name) for source in (fields, more) for name in _IDS)
    id_ = next((value for value in ids if _says(value)), _id_of(text))
    return Passage(str(id_), text, str(title), _number(fields.get("score", more.get("score"))))


class _Attributes:
    """The attributes of an object, read as a mapping."""

    def __init__(self, item: Any) -> None:
        self._item = item

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self._item, name, default)


def _says(value: Any) -> bool:
    """Whether it is an id or a title, and not what stands for none: None, "", or a table's nan."""
    return isinstance(value, Hashable) and value == value and value not in (None, "")


def _number(score: Any) -> float | None:
    try:
        number = float(score) if isinstance(score, SupportsFloat) and not isinstance(score, bool) else math.nan
    except (TypeError, ValueError):  # an array of several numbers
        number = math.nan
    return number if math.isfinite(number) else None


def _id_of(text: str) -> str:
    """An id that equal texts share."""
    return f"text:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"
