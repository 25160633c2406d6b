"""What every retriever is, whatever its backend."""

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import dspy
import pytest
from dspy.utils.callback import BaseCallback

from retrieval import Memory, Passage, Retriever, UsageError, load


class Echo(Retriever):
    """Finds the query itself, `k` times."""

    def __init__(self) -> None:
        self.batches: list[Sequence[str]] = []

    def search(self, query: str, k: int) -> list[Passage]:
        return [Passage(f"{query}-{n}", query) for n in range(k)]

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        self.batches.append(queries)
        return super().search_batch(queries, k)


class Heard(BaseCallback):
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def on_tool_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        raise AssertionError("a search is no tool call")

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.calls.append((instance, inputs))

    def on_module_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        self.calls.append((outputs, exception))


def test_calling_it_searches() -> None:
    assert [p.id for p in Echo()("q", 2)] == ["q-0", "q-1"]
    assert len(Echo()("q")) == 5


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_at_least_one(k: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Echo()("q", k)
    with pytest.raises(UsageError, match="at least 1"):
        Echo().batch(["q"], k)


@pytest.mark.parametrize("query", ["", " \n\t"])
def test_a_blank_query_finds_nothing(query: str) -> None:
    assert Echo()(query) == []


def test_a_batch_gives_what_single_calls_give_and_never_asks_for_blank_queries() -> None:
    echo, queries = Echo(), ["a", "", "b", "  ", "a"]
    assert echo.batch(queries, 3) == [echo(query, 3) for query in queries]
    assert echo.batches == [["a", "b", "a"]]
    assert echo.batch(["", " "]) == [[], []]
    assert echo.batch([]) == []
    assert echo.batches == [["a", "b", "a"]]


def test_it_is_shared_and_never_copied() -> None:
    echo = Echo()
    assert copy.deepcopy(echo) is echo
    assert copy.deepcopy({"retriever": [echo]})["retriever"][0] is echo
    module = dspy.Module()
    module.retriever = echo
    assert module.deepcopy().retriever is echo


def test_dspy_callbacks_hear_a_search() -> None:
    echo, heard = Echo(), Heard()
    with dspy.context(callbacks=[heard]):
        found = echo("q", k=1)
    assert heard.calls == [(echo, {"query": "q", "k": 1}), (found, None)]


def test_a_pickle_has_the_name_of_what_was_loaded_and_opens_it_again() -> None:
    sample = load("sample")
    loaded, unnamed = pickle.dumps(sample), pickle.dumps(Memory(["cats"]))
    assert len(loaded) < 100
    again = pickle.loads(loaded)  # noqa: S301 - pickled just above
    assert again("Gateway Arch", 2) == sample("Gateway Arch", 2)
    assert again.opened_as == "sample"
    assert [p.text for p in pickle.loads(unnamed)("cats")] == ["cats"]  # noqa: S301 - likewise
