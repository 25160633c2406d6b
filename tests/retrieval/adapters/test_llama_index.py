"""LlamaIndex's own retrievers as ours, and ours in a query engine of LlamaIndex."""

import asyncio

import pytest
from llama_index.core import SummaryIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from retrieval import Memory, Passage
from retrieval.adapters import as_retriever
from retrieval.adapters.llama_index import LlamaIndexRetriever

pytestmark = pytest.mark.needs("llama_index")

CATS = Passage("c", "Cats chase mice", "Cats")
DOGS = Passage("d", "Dogs chase cats")


class Theirs(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        cats = TextNode(id_="c", text=CATS.text, metadata={"title": "Cats"})
        return [NodeWithScore(node=cats, score=0.5), NodeWithScore(node=TextNode(id_="d", text=DOGS.text))]


def test_theirs_as_ours() -> None:
    first, second = as_retriever(Theirs())("cats", 2)
    assert first.toDict() == {"id": "c", "text": CATS.text, "title": "Cats", "score": 0.5}
    assert second.toDict() == {"id": "d", "text": DOGS.text, "title": "", "score": None}
    index = SummaryIndex([TextNode(id_="c", text=CATS.text)])
    assert [p.id for p in as_retriever(index.as_retriever())("cats", 3)] == ["c"]


def test_ours_as_theirs() -> None:
    retriever = LlamaIndexRetriever(Memory([CATS, DOGS]), similarity_top_k=1)
    assert isinstance(retriever, BaseRetriever)
    (found,) = retriever.retrieve("who chases mice")
    assert (found.node.node_id, found.node.get_content(), found.metadata) == ("c", CATS.text, {"title": "Cats"})
    assert found.score is not None
    assert asyncio.run(retriever.aretrieve("dogs"))[0].metadata == {}


def test_a_plain_function_in_their_query_engine() -> None:
    retriever = LlamaIndexRetriever(lambda query, k: [f"{query} {n}" for n in range(k)], similarity_top_k=2)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    assert [node.text for node in engine.query("cats").source_nodes] == ["cats 0", "cats 1"]
