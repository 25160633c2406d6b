from pathlib import Path

import pytest

from eval.papers.setup import Setup, State, assigned, states
from lms.extractive import extractive_lm
from retrieval import UsageError


def test_settings_are_read_as_numbers_truth_values_or_words() -> None:
    assert assigned(["top-k=3", "a=False", "b=x=y"]) == {"top_k": 3, "a": False, "b": "x=y"}
    with pytest.raises(UsageError, match="NAME=VALUE"):
        assigned(["k"])


def test_states_are_of_programs_and_tasks_that_exist() -> None:
    assert states(["migres=a.json", "cot:hotpotqa=b.json"]) == [
        State("migres", None, "a.json"),
        State("cot", "hotpotqa", "b.json"),
    ]
    with pytest.raises(UsageError, match="no program 'nosuch'"):
        states(["nosuch=a.json"])
    with pytest.raises(UsageError, match="PROGRAM"):
        states(["migres"])
    with pytest.raises(UsageError, match="nosuch"):
        states(["migres:nosuch=a.json"])


def test_a_state_for_a_task_comes_before_one_for_all(tmp_path: Path) -> None:
    setup = Setup(
        lms={"": lambda *_: extractive_lm()},
        retrievers={},
        directory=tmp_path,
        states=states(["cot:hotpotqa=of-hotpotqa.json", "cot=first.json", "cot=last.json"]),
    )
    assert setup.state_file("cot", "hotpotqa") == "of-hotpotqa.json"
    assert setup.state_file("cot", "nq") == "last.json"
    assert setup.state_file("direct", "nq") is None
