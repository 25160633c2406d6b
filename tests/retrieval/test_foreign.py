"""Other people's retrievers, and what they return."""

import asyncio
import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import dspy
import numpy as np
import pytest

import lms
from programs.direct import Direct
from retrieval import Memory, Passage, UsageError, as_passages, as_retriever

CATS, DOGS = "Cats chase mice.", "Dogs chase cats."


def fields(passages: list[Passage]) -> list[tuple[str, str, str, float | None]]:
    return [(p.id, p.text, p.title, p.score) for p in passages]


@dataclass
class Document:
    """In the form of LangChain's."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class Node:
    """In the form of LlamaIndex's."""

    node_id: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class NodeWithScore:
    node: Node
    score: float | None = None


class TestWhatIsReturned:
    @pytest.mark.parametrize(
        ("item", "expected"),
        [
            (Passage("a", CATS, "Cats", 2.0), ("a", CATS, "Cats", 2.0)),
            ({"id": 7, "text": CATS, "title": "Cats", "score": 2}, ("7", CATS, "Cats", 2.0)),
            ({"pid": 0, "long_text": CATS, "score": 21.5}, ("0", CATS, "", 21.5)),
            ({"docid": "d", "contents": CATS, "title": None}, ("d", CATS, "", None)),
            (Document(CATS, {"title": "Cats", "id": "m"}), ("m", CATS, "Cats", None)),
            (Document(CATS, {"source": "cats.txt"}, "d"), ("d", CATS, "", None)),
            ((Document(CATS, id="d"), 0.25), ("d", CATS, "", 0.25)),
            (NodeWithScore(Node("n", CATS, {"title": "Cats"}), 0.5), ("n", CATS, "Cats", 0.5)),
            (NodeWithScore(Node("n", CATS)), ("n", CATS, "", None)),
        ],
    )
    def test_each_form_becomes_a_passage(self, item: Any, expected: tuple[str, str, str, float | None]) -> None:
        assert fields(as_passages([item])) == [expected]

    @pytest.mark.parametrize("nothing", [math.nan, np.array([1.0, 2.0]), np.float32("inf")])
    def test_what_is_no_number_and_no_name_counts_as_missing(self, nothing: Any) -> None:
        (found,) = as_passages([{"text": CATS, "score": nothing}])
        assert found.score is None
        missing = math.nan if isinstance(nothing, np.float32) else nothing
        (named,) = as_passages([{"text": CATS, "id": missing, "title": missing}])
        assert (named.id, named.title) == (found.id, "")

    def test_a_text_gets_an_id_that_equal_texts_share(self) -> None:
        cats, dogs = as_passages([CATS, DOGS, CATS])
        assert (cats.text, dogs.text) == (CATS, DOGS)
        assert cats.id != dogs.id
        assert as_passages([{"text": CATS}]) == [cats]

    def test_a_prediction_with_passages_is_a_list_of_them(self) -> None:
        assert [p.text for p in as_passages(dspy.Prediction(passages=[CATS, DOGS]))] == [CATS, DOGS]

    @pytest.mark.parametrize("found", [None, CATS, {"text": CATS}, 7, [None], [{"words": CATS}], [7], [("a", "b")]])
    def test_anything_else_is_refused(self, found: Any) -> None:
        with pytest.raises(UsageError, match=r"passages are given as a list, not as a|there is no passage in a"):
            as_passages(found)

    @pytest.mark.needs("pandas")
    def test_a_data_frame_is_a_list_of_its_rows(self) -> None:
        import pandas

        frame = pandas.DataFrame({"docno": ["a", "b"], "docid": [7, 8], "text": [CATS, DOGS], "score": [2.0, 1.0]})
        assert fields(as_passages(frame)) == [("a", CATS, "", 2.0), ("b", DOGS, "", 1.0)]

    def test_what_must_be_awaited_is_refused(self) -> None:
        async def search(query: str, k: int) -> list[str]:
            return [CATS]

        found = search("cats", 1)
        with pytest.raises(UsageError, match="await it first"):
            as_passages(found)
        found.close()


class Remembers:
    """Notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []


class Searcher(Remembers):
    def search(self, query: str, k: int) -> list[str]:
        self.asked.append((query, k))
        return [CATS, DOGS]


class VectorStore(Remembers):
    def search(self, query: str, search_type: str, **kwargs: Any) -> list[Document]:
        raise AssertionError("it asks for a kind of search")

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        self.asked.append((query, k))
        return [Document(CATS), Document(DOGS)]


class StoreRetriever(Remembers):
    search_kwargs: ClassVar[dict[str, Any]] = {}

    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        self.asked.append((input, kwargs["k"]))
        return [Document(CATS), Document(DOGS)]


class Keywords(Remembers):
    def __call__(self, query: str, *, top_k: int = 10) -> list[str]:
        self.asked.append((query, top_k))
        return [CATS, DOGS]


class RM(dspy.Retrieve, Remembers):
    def __init__(self) -> None:
        super().__init__(k=3)
        self.asked = []

    def forward(self, query: str, k: int | None = None, **kwargs: Any) -> dspy.Prediction:
        self.asked.append((query, k))
        return dspy.Prediction(passages=[CATS, DOGS])


class TestWhatSearches:
    @pytest.mark.parametrize("made", [Searcher, VectorStore, StoreRetriever, Keywords, RM])
    def test_it_is_asked_for_k(self, made: Callable[[], Any]) -> None:
        searcher = made()
        retriever = as_retriever(searcher)
        assert [p.text for p in retriever("cats", 1)] == [CATS]
        assert searcher.asked == [("cats", 1)]

    def test_a_second_argument_of_any_name_is_the_number(self) -> None:
        assert [p.text for p in as_retriever(lambda query, how_many: [query] * how_many)("cats", 1)] == ["cats"]

    @pytest.mark.parametrize(
        "searcher",
        [
            lambda query: [CATS, DOGS],
            SimpleNamespace(retrieve=lambda query: [NodeWithScore(Node("a", CATS)), NodeWithScore(Node("b", DOGS))]),
            SimpleNamespace(invoke=lambda query, config=None, **kwargs: [Document(CATS), Document(DOGS)]),
        ],
    )
    def test_what_takes_no_number_is_cut_off(self, searcher: Any) -> None:
        assert [p.text for p in as_retriever(searcher)("cats", 1)] == [CATS]

    def test_embeddings_of_dspy(self) -> None:
        def embed(texts: list[str]) -> Any:
            import numpy as np

            return np.array([[float("mice" in text), 1.0] for text in texts], np.float32)

        search = dspy.retrievers.Embeddings([CATS, DOGS], dspy.Embedder(embed, caching=False), k=2)
        assert as_retriever(search)("mice", 1)[0].text == CATS

    def test_ours_stays_as_it_is_and_copies_share_it(self) -> None:
        memory = Memory([CATS])
        assert as_retriever(memory) is memory
        foreign = as_retriever(Searcher())
        assert copy.deepcopy(foreign) is foreign

    @pytest.mark.parametrize("name", ["sample", Path("index")])
    def test_a_name_is_told_how_to_become_a_retriever(self, name: Any) -> None:
        with pytest.raises(UsageError, match=r"use retrieval\.load\("):
            as_retriever(name)

    def test_a_function_that_does_not_say_what_it_takes_is_refused(self) -> None:
        with pytest.raises(UsageError, match="does not say what it takes: give a function"):
            as_retriever(max)

    def test_an_asynchronous_search_runs_in_a_loop_of_its_own_or_in_that_of_whoever_awaits_the_method(self) -> None:
        loops = []

        async def search(query: str, k: int) -> list[str]:
            await asyncio.sleep(0)
            loops.append(asyncio.get_running_loop())
            return [CATS, DOGS, query][:k]

        async def awaited(method: Direct) -> asyncio.AbstractEventLoop:
            await method.acall(question="Where is it?")
            assert [p.text for p in method.retriever("again", 1)] == [CATS]  # a plain call within a loop
            return asyncio.get_running_loop()

        for searches in (search, SimpleNamespace(search=search)):
            loops.clear()
            method = Direct(as_retriever(searches), k=2)
            assert [p.text for p in method.retriever("cats", 2)] == [CATS, DOGS]
            with dspy.context(lm=lms.load("extractive")):
                assert [p.text for p in method(question="Where is it?").passages] == [CATS, DOGS]
                here = asyncio.run(awaited(method))
            own, again, callers, within = loops
            assert own is again is within
            assert callers is here

    def test_what_an_asynchronous_search_raises_is_raised(self) -> None:
        async def search(query: str) -> list[str]:
            raise KeyError(query)

        with pytest.raises(KeyError, match="cats"):
            as_retriever(search)("cats")

    @pytest.mark.parametrize("nothing", [None, 7, [CATS], Searcher])
    def test_anything_else_is_refused(self, nothing: Any) -> None:
        with pytest.raises(UsageError, match="is no retriever: give one"):
            as_retriever(nothing)
