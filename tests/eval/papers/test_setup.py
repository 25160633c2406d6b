from pathlib import Path
from typing import Any

import pytest

from eval.papers.setup import Setup, check_settings, check_states
from eval.papers.tables import choose, find
from lms.extractive import extractive_lm
from retrieval import UsageError


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            {"nosuch": 1},
            "no program here has the setting 'nosuch'; there are: external, filter, hops, internal, k, orig",
        ),
        ({"k": "zero"}, "BlendFilter: k must be a valid integer, not 'zero'"),
        ({"k": 2.5}, "BlendFilter: k must be a valid integer, not 2.5"),
        ({"filter": "nosuch"}, "BlendFilter: filter must be 'each', 'union' or 'off', not 'nosuch'"),
    ],
)
def test_settings_are_such_as_the_programs_have(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        check_settings(given, [find("blendfilter:table5")])


@pytest.mark.parametrize(
    ("table", "rows", "name", "named"),
    [
        ("qpaug:table2", ["QPaug"], "augment", r"\(QPaug\)"),
        ("qpaug:table2", ["QPaug"], "generate", r"\(QPaug\)"),
        (
            "blendfilter:table5",
            ["BM25"],
            "original",
            r"\(BlendFilter, BM25; w/o q, BM25; w/o q_ex, BM25; w/o q_in, BM25\)",
        ),
        ("blendfilter:fig3", ["BlendFilter, K = 3"], "k", r"\(BlendFilter, K = 3\)"),
    ],
)
def test_what_makes_a_row_what_it_is_cannot_be_set(table: str, rows: list[str], name: str, named: str) -> None:
    with pytest.raises(UsageError, match=f"--set {name} is refused: it makes the rows what they are {named}"):
        check_settings({name: False}, choose([find(table)], rows, []))


def test_what_only_some_rows_fix_can_be_set_for_the_others() -> None:
    check_settings({"upr": "upr:any"}, [find("chain_of_rewrite:table4")])


def test_a_setting_may_be_what_a_row_that_has_it_itself_could_not_take() -> None:
    (table,) = choose([find("qpaug:table2")], ["rerank"], [])
    (row,) = table.rows
    check_settings({"upr": "none", "k": 3}, [table])
    others = [{"program": "direct", "settings": {}}, {"program": "alce", "settings": {"style": "short"}}]
    own = table.model_copy(update={"rows": tuple(row.model_copy(update=other) for other in others)})
    check_settings({"style": "entity"}, [own])  # which alce does not have


def test_states_are_of_programs_and_tasks_that_exist(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.touch()
    check_states({"migres": str(file), "cot:hotpotqa": str(file)})
    for name, complaint in {"nosuch": "no program 'nosuch'", "migres:nosuch": "nosuch"}.items():
        with pytest.raises(UsageError, match=complaint):
            check_states({name: str(file)})
    with pytest.raises(UsageError, match="there is no state file nowhere"):
        check_states({"migres": "nowhere"})


def test_a_state_for_a_task_comes_before_one_for_all(tmp_path: Path) -> None:
    states = {"cot:hotpotqa": "of-hotpotqa.json", "cot": "usual.json"}
    setup = Setup(lms={"": lambda *_: extractive_lm()}, retrievers={}, directory=tmp_path, states=states)
    assert setup.state_file("cot", "hotpotqa") == "of-hotpotqa.json"
    assert setup.state_file("cot", "nq") == "usual.json"
    assert setup.state_file("direct", "nq") is None
