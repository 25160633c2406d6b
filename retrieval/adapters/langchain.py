"""Our retrievers as LangChain's; needs langchain-core."""

import asyncio
from typing import Any

from pydantic import Field, field_validator

from odqa.extras import needing
from retrieval.base import Retriever
from retrieval.foreign import as_retriever

with needing(package="langchain-core"):
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

__all__ = ["LangChainRetriever"]


class LangChainRetriever(BaseRetriever):
    """Gives passages as documents of LangChain: the text, the id, and title and score as metadata.

    How many is said as for a vector store of LangChain: `search_kwargs={"k": 3}`, or `invoke(query, k=3)`.

    Args:
        retriever: One of ours, or anything that `as_retriever` takes.
        search_kwargs: `k`, how many passages to find where a call does not say; without it, five.
    """

    retriever: Retriever
    search_kwargs: dict[str, Any] = Field(default_factory=dict)

    @field_validator("retriever", mode="before")
    @classmethod
    def _any_retriever(cls, retriever: Any) -> Retriever:
        return as_retriever(retriever)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        found = self.retriever(query, **{**self.search_kwargs, **kwargs})
        return [Document(page_content=p.text, id=p.id, metadata={"title": p.title, "score": p.score}) for p in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        search = self._get_relevant_documents
        return await asyncio.to_thread(search, query, run_manager=run_manager.get_sync(), **kwargs)
