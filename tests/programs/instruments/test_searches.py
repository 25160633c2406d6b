from functools import partial
from pathlib import Path

import dspy
import pytest

from eval.metrics import em
from eval.records.record import Row
from eval.runs.runner import evaluate
from eval.runs.store import read
from programs.instruments.trace import Found, Query, observed
from programs.steps.result import result
from programs.steps.side_by_side import side_by_side
from retrieval import Memory, Passage, RetrievalError, Retriever

PASSAGES = [Passage(id_, f"text of {id_}", id_) for id_ in "abc"]


class Down(Retriever):
    def search(self, query: str, k: int) -> list[Passage]:
        raise RetrievalError("no server answers")


def test_searches_are_seen_wherever_they_are_made() -> None:
    memory = Memory(PASSAGES)
    memory("before")
    with observed() as searches:
        memory("a")
        with observed() as inner:
            side_by_side(*(partial(memory, query) for query in "bc"))
        with pytest.raises(RetrievalError):
            Down()("d")
        memory(" ")
    memory("after")
    found = {search.query: search.found and [passage.id for passage in search.found] for search in searches}
    assert found == {"a": ["a"], "b": ["b"], "c": ["c"], "d": None, " ": []}
    assert sorted(search.query for search in inner) == ["b", "c"]


def test_a_row_has_them_in_the_order_of_the_queries_and_those_of_a_failed_question(tmp_path: Path) -> None:
    class Program(dspy.Module):
        def forward(self, question: str) -> dspy.Prediction:
            memory = Memory(PASSAGES)
            for query in "cba":
                memory(query)
            if question == "down":
                Down()("d")
            return result(answer="x", queries=["a", "b"], passages=[], evidence=[])

    examples = [dspy.Example(id=q, question=q, answers=["x"]).with_inputs("question") for q in ("up", "down")]
    evaluate(Program(), examples, metrics=[em], directory=tmp_path / "run", threads=1)

    def searched(row: Row) -> list[tuple[str, tuple[str, ...] | None]]:
        found = {step.query: step.passages for step in row.trace.steps_of(Found)}
        return [(step.text, found[step.number]) for step in row.trace.steps_of(Query)]

    up, down = read(tmp_path / "run").rows
    assert searched(up) == [(query, (query,)) for query in "abc"]
    assert searched(down) == [*((query, (query,)) for query in "cba"), ("d", None)]
