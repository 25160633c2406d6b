"""What agents can do here: ask a question, search, and fetch what a search found."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from programs.instruments.cost import Cost
from programs.instruments.live import PassageShown, shown
from programs.instruments.words import Words
from programs.serving.answering import Answering, Asking
from programs.serving.cited import address, sources
from programs.serving.forms import RetrieverName, Settings
from programs.serving.problems import Problem
from programs.serving.records import Record

__all__ = ["PASSAGE", "Answered", "Ask", "Document", "Fetch", "Results", "Search", "Tools"]

PASSAGE = "passage:"
"""What the addresses of passages begin with that have none of their own."""
_FOUND = 10  # passages of a search
_REMEMBERED = 10_000  # passages that can be fetched


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Ask(_Arguments):
    """The arguments of `answer`."""

    question: str
    method: Annotated[
        str | None, Field(description="how to answer, and where to search: METHOD or METHOD@RETRIEVER")
    ] = None
    settings: Settings = {}
    retriever: RetrieverName = None


class Search(_Arguments):
    """The arguments of `search`."""

    query: Annotated[str, Field(description="words or a question")]


class Fetch(_Arguments):
    """The arguments of `fetch`."""

    id: Annotated[str, Field(description="of a result of `search`")]


class Result(BaseModel):
    """A passage that was found."""

    id: str
    title: str
    url: str


class Source(Result):
    """A passage with its text."""

    text: str


class Answered(BaseModel):
    """What `answer` gives."""

    answer: Annotated[str, Field(description="empty where there is none")]
    note: Annotated[str | None, Field(description="says so where there is no answer")]
    sources: Annotated[list[Source], Field(description="the passages that say the answer")]
    shown: Annotated[list[Source], Field(description="the others that the answer was made from")]
    cost: Cost


class Results(BaseModel):
    """What `search` gives, the best first."""

    results: list[Result]


class Document(Source):
    """What `fetch` gives."""

    metadata: dict[str, str]


class Tools:
    """The tools, over what answers questions; for the thread of an event loop.

    Args:
        answering: Answers the questions. Its first retriever is searched.
    """

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._name, self._retriever = next(iter(answering.retrievers.items()))
        self._found: OrderedDict[str, PassageShown] = OrderedDict()  # by id, what was found last at the end

    @property
    def searches(self) -> bool:
        """Whether there are `search` and `fetch`: not for a retriever that asks an LM, whose calls only those who ask
        a question have counted and limited."""
        return self._retriever is not None and not self._retriever.asks_lm

    async def answer(self, ask: Ask, tell: Callable[[str], Awaitable[object]]) -> Answered:
        """Ask a question.

        Args:
            ask: The question.
            tell: Is told each step in words, when it happens.

        Raises:
            Problem: it cannot be asked, or failed.
        """
        method = ask.method or self._answering.methods.names[0]
        question = self._answering.begin(Asking(ask.question, method, ask.settings, ask.retriever))
        words = Words()
        try:
            async for told in question:
                if isinstance(told, Record):
                    return _answered(told)
                if said := words(told):
                    await tell(said.strip())
        finally:
            question.stop()
        raise AssertionError("the last that a question tells is its record")

    async def search(self, search: Search) -> Results:
        """Search with the first retriever.

        Raises:
            Problem: the query is too long, or as `Answering.search`.
            RetrievalError: the search failed.
        """
        assert self._retriever is not None
        if len(search.query) > (most := self._answering.limits.question):
            raise Problem(400, f"a query is at most {most:,} characters long", "invalid_request")
        found = await self._answering.search(self._retriever, search.query, _FOUND)
        passages = [shown(passage) for passage in found]
        for passage in passages:
            self._found[passage.id] = passage
            self._found.move_to_end(passage.id)
        while len(self._found) > _REMEMBERED:
            self._found.popitem(last=False)
        return Results(results=[Result(id=p.id, title=_title(p), url=_url(p)) for p in passages])

    def fetch(self, id_: str) -> Document:
        """A passage that a search found.

        Raises:
            Problem: none has, or so many others since that this one is forgotten.
        """
        if (passage := self._found.get(id_)) is None:
            raise Problem(404, "no search has found this passage: search for it first", "not_found")
        return Document(**_source(passage).model_dump(), metadata={"retriever": self._name})


def _answered(record: Record) -> Answered:
    says, others = (list(map(_source, sources(record, supporting=which))) for which in (True, False))
    return Answered(answer=record.answer, note=record.note, sources=says, shown=others, cost=record.cost)


def _source(passage: PassageShown) -> Source:
    return Source(id=passage.id, title=_title(passage), url=_url(passage), text=passage.text)


def _title(passage: PassageShown) -> str:
    return passage.title or passage.id


def _url(passage: PassageShown) -> str:
    """Its own address, else that of the resource."""
    return address(passage) or PASSAGE + quote(passage.id, safe="")
