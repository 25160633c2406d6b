"""LangChain's own retrievers and stores as ours, and ours as a part of a chain."""

import asyncio

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from retrieval import Memory, Passage, UsageError
from retrieval.adapters import as_retriever
from retrieval.adapters.langchain import LangChainRetriever

pytestmark = pytest.mark.needs("langchain_core")

CATS = Passage("c", "Cats chase mice", "Cats")
DOGS = Passage("d", "Dogs chase cats")


def store() -> InMemoryVectorStore:
    documents = [Document(page_content=p.text, id=p.id, metadata={"title": p.title}) for p in (CATS, DOGS)]
    return InMemoryVectorStore.from_documents(documents, DeterministicFakeEmbedding(size=16))


def test_theirs_as_ours() -> None:
    for theirs in (store(), store().as_retriever()):
        (found,) = as_retriever(theirs)(CATS.text, 1)
        assert (found.id, found.title, found.text) == ("c", "Cats", CATS.text)
        assert len(as_retriever(theirs)(CATS.text, 2)) == 2


def test_ours_as_theirs() -> None:
    retriever = LangChainRetriever(retriever=Memory([CATS, DOGS]))
    assert isinstance(retriever, BaseRetriever)
    documents = retriever.invoke("who chases cats or mice")
    assert [(d.id, d.page_content, d.metadata["title"]) for d in documents] == [
        ("c", CATS.text, "Cats"),
        ("d", DOGS.text, ""),
    ]
    scores = [d.metadata["score"] for d in documents]
    assert scores == sorted(scores, reverse=True)


def test_how_many_is_said_where_it_is_made_or_where_it_is_called() -> None:
    retriever = LangChainRetriever(retriever=Memory([CATS, DOGS]), search_kwargs={"k": 1})
    assert [d.id for d in retriever.invoke("mice")] == ["c"]
    assert len(retriever.invoke("chase", k=2)) == 2
    assert len(asyncio.run(retriever.ainvoke("chase", k=2))) == 2
    assert len(as_retriever(retriever)("chase", 2)) == 2
    with pytest.raises(UsageError, match="must be at least 1"):
        retriever.invoke("mice", k=0)


def test_a_plain_function_is_a_step_of_a_chain() -> None:
    retriever = LangChainRetriever(retriever=lambda query, k: [f"{query} {n}" for n in range(k)])
    chain = retriever | RunnableLambda(lambda documents: [d.page_content for d in documents])
    assert chain.invoke("cats", k=2) == ["cats 0", "cats 1"]
