"""Our retrievers as LlamaIndex's; needs llama-index-core."""

import asyncio
from typing import Any

from odqa.extras import needing
from retrieval.foreign import AnyRetriever, as_retriever

with needing(package="llama-index-core"):
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

__all__ = ["LlamaIndexRetriever"]


class LlamaIndexRetriever(BaseRetriever):
    """Gives passages as nodes of LlamaIndex with their scores; the title, if there is one, is metadata.

    Args:
        retriever: One of ours, or anything that `as_retriever` takes.
        similarity_top_k: How many passages to find.
        settings: What LlamaIndex's own retrievers take, such as `callback_manager`.
    """

    def __init__(self, retriever: AnyRetriever, similarity_top_k: int = 5, **settings: Any) -> None:
        self.retriever = as_retriever(retriever)
        self.similarity_top_k = similarity_top_k
        super().__init__(**settings)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    id_=passage.id, text=passage.text, metadata={"title": passage.title} if passage.title else {}
                ),
                score=passage.score,
            )
            for passage in self.retriever(query_bundle.query_str, self.similarity_top_k)
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
