import dspy
import pytest

from eval.runs.ceiling import gold_of, is_oracle, load_oracle
from retrieval import Memory, Passage, UsageError


def test_the_oracle_knows_what_the_tasks_know() -> None:
    example = dspy.Example(
        question="q?", answers=["no"], gold_titles=["A", "B", "C"], gold_by_annotator=[["1", "2"], ["3", "2"], ["9"]],
        decomposition=[{"question": "s?", "answer": ["x", "y"]}, "t?"], evidences=[["A", "of", "B"]],
    )  # fmt: skip
    memory = Memory([Passage("1", "a", "A"), Passage("2", "b", "B"), Passage("3", "c", "C")])
    gold = gold_of(example, memory)
    assert gold.titles == (("A", "B"), ("C", "B"))
    assert gold.steps == (("s?", "x"),)
    assert gold.leads == ("s?", "x", "t?", "A", "B")
    assert gold_of(example).titles == (("A", "B", "C"),)
    assert is_oracle("oracle:0.1")
    assert not is_oracle("extractive")
    assert load_oracle("oracle:0.1", [example], memory).model == "oracle/error-rate-0.1"
    with pytest.raises(UsageError, match="must be a number"):
        load_oracle("oracle:often", [example], memory)
