"""Haystack's own retrievers as ours, and ours in a pipeline of Haystack, which can be saved."""

from typing import Any

import pytest
from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.retrievers import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

import retrieval
from retrieval import Memory, Passage, UsageError
from retrieval.adapters import as_retriever
from retrieval.adapters.haystack import HaystackRetriever

pytestmark = pytest.mark.needs("haystack")

CATS = Passage("c", "Cats chase mice", "Cats")
DOGS = Passage("d", "Dogs chase cats")


def test_theirs_as_ours() -> None:
    store = InMemoryDocumentStore()
    store.write_documents([Document(id=p.id, content=p.text, meta={"title": p.title}) for p in (CATS, DOGS)])
    retriever = as_retriever(InMemoryBM25Retriever(store))
    (found,) = retriever("mice", 1)
    assert (found.id, found.title, found.text) == ("c", "Cats", CATS.text)
    assert found.score is not None
    assert len(retriever("chase", 2)) == 2


def test_what_runs_but_takes_no_query_is_no_retriever() -> None:
    @component
    class Embeds:
        @component.output_types(embedding=list[float])
        def run(self, text: str) -> dict[str, Any]:
            return {"embedding": []}

    with pytest.raises(UsageError, match="is no retriever: give one"):
        as_retriever(Embeds())


def test_ours_as_theirs() -> None:
    retriever = HaystackRetriever(Memory([CATS, DOGS]), top_k=1)
    (found,) = retriever.run(query="who chases mice")["documents"]
    assert (found.id, found.content, found.meta) == ("c", CATS.text, {"title": "Cats"})
    assert found.score is not None
    assert [d.meta for d in retriever.run("chase cats dogs", top_k=2)["documents"]] == [{}, {"title": "Cats"}]
    assert [p.id for p in as_retriever(retriever)("chase", 2)] == ["c", "d"]
    with pytest.raises(UsageError, match="must be at least 1"):
        retriever.run("mice", top_k=0)


def test_a_plain_function_in_a_pipeline() -> None:
    pipeline = Pipeline()
    pipeline.add_component("find", HaystackRetriever(lambda query, k: [f"{query} {n}" for n in range(k)]))
    pipeline.add_component("show", PromptBuilder("{% for d in documents %}[{{ d.content }}]{% endfor %}"))
    pipeline.connect("find.documents", "show.documents")
    assert pipeline.run({"find": {"query": "cats", "top_k": 2}})["show"]["prompt"] == "[cats 0][cats 1]"


def test_a_pipeline_is_saved_with_the_name_of_the_retriever() -> None:
    pipeline = Pipeline()
    pipeline.add_component("find", HaystackRetriever(retrieval.load("sample"), top_k=2))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["retrieval.adapters.*"])
    question = {"find": {"query": "Who designed the Gateway Arch?"}}
    assert again.run(question) == pipeline.run(question)
    assert len(again.run(question)["find"]["documents"]) == 2
    with pytest.raises(UsageError, match=r"with a retriever of retrieval\.load"):
        HaystackRetriever(Memory([CATS])).to_dict()
