"""Our retrievers as components of Haystack; needs haystack-ai."""

from typing import Any

from odqa.errors import UsageError
from odqa.extras import needing
from retrieval.foreign import AnyRetriever, as_retriever
from retrieval.specs import load

with needing(package="haystack-ai"):
    from haystack import Document, component, default_to_dict

__all__ = ["HaystackRetriever"]


@component
class HaystackRetriever:
    """Gives passages as documents of Haystack: text, id and score, and the title, if there is one, as `meta`.

    A pipeline that is saved holds the name that `retrieval.load` opened the retriever by, and opens it again.

    Args:
        retriever: One of ours, or anything that `as_retriever` takes.
        top_k: How many passages to find where a run does not say.
    """

    def __init__(self, retriever: AnyRetriever, top_k: int = 10) -> None:
        self.retriever = as_retriever(retriever)
        self.top_k = top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Find passages for one query.

        Raises:
            UsageError: `top_k` is below 1.
            RetrievalError: the retriever could not answer.
        """
        return {
            "documents": [
                Document(
                    id=passage.id,
                    content=passage.text,
                    meta={"title": passage.title} if passage.title else {},
                    score=passage.score,
                )
                for passage in self.retriever(query, self.top_k if top_k is None else top_k)
            ]
        }

    def to_dict(self) -> dict[str, Any]:
        """What Haystack writes into the file of a pipeline.

        Raises:
            UsageError: the retriever was not opened by `retrieval.load`.
        """
        if self.retriever.opened_as is None:
            raise UsageError("only a pipeline with a retriever of retrieval.load(…) can be saved")
        described: dict[str, Any] = default_to_dict(self, retriever=self.retriever.opened_as, top_k=self.top_k)
        return described

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "HaystackRetriever":
        """The component as `to_dict` described it."""
        settings = data["init_parameters"]
        return cls(**{**settings, "retriever": load(settings["retriever"])})
