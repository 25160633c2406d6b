from pathlib import Path
from typing import Any

import pytest

from eval.papers.measuring import NotRun
from eval.papers.setup import Setup, by_role, check_settings, check_states, fill, lm_roles, retriever_roles
from eval.papers.tables import choose, find
from eval.runs.request import Request
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
    setup = Setup(Request(task="", program=""), {"": lambda *_: extractive_lm()}, {}, tmp_path, states=states)
    assert setup.state_file("cot", "hotpotqa") == "of-hotpotqa.json"
    assert setup.state_file("cot", "nq") == "usual.json"
    assert setup.state_file("direct", "nq") is None


def test_values_come_by_role_or_for_all() -> None:
    texts = ["openai/a", "planner=openai/b", "gpt-4=gguf:x=y.gguf", "planner=openai/c"]
    assert by_role("--lm", texts, lm_roles()) == {"": "openai/a", "planner": "openai/c", "gpt-4": "gguf:x=y.gguf"}


@pytest.mark.parametrize("value", ["http://host/api?a=b", "gguf:a=b.gguf", "./a=b.toml"])
def test_an_equals_sign_in_a_value_makes_no_role(value: str) -> None:
    assert by_role("--retriever", [value], retriever_roles()) == {"": value}


def test_an_unknown_role_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"--lm: there is no role 'gpt4'; there are: reader, planner, .*gpt-4, "):
        by_role("--lm", ["gpt4=openai/a"], lm_roles())
    with pytest.raises(UsageError, match=r"there are: .*bm25, .*oracle"):
        by_role("--retriever", ["=sample"], retriever_roles())


def test_the_name_comes_before_the_kind_and_the_kind_before_all() -> None:
    given = {"": "all", "reader": "readers", "gpt-4": "one"}
    assert fill(given, "--lm", "gpt-4", "reader") == "one"
    assert fill(given, "--lm", "gpt-3.5", "reader") == "readers"
    assert fill(given, "--lm", None, "reader") == "readers"
    assert fill(given, "--lm", "gpt-3.5", "planner") == "all"


def test_a_retriever_may_be_for_the_questions_of_one_task() -> None:
    texts = ["sample", "@hotpotqa=bm25:of2017", "bm25@musique=bm25:of2021", "oracle@nq=bm25:oracle"]
    given = by_role("--retriever", texts, retriever_roles(), by_task=True)
    assert fill(given, "--retriever", "bm25", task="nq") == "sample"
    assert fill(given, "--retriever", "bm25", task="hotpotqa") == "bm25:of2017"
    assert fill(given, "--retriever", "bm25", task="musique") == "bm25:of2021"
    assert fill(given, "--retriever", "mixture", task="musique") == "sample"
    assert fill(given, "--retriever", "oracle", task="nq") == "bm25:oracle"
    with pytest.raises(NotRun, match="needs --retriever oracle=SPEC"):
        fill(given, "--retriever", "oracle", task="hotpotqa")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("@nosuch=sample", "nosuch"), ("bm52@nq=sample", "no role 'bm52'"), ("@=sample", "''")],
)
def test_an_unknown_task_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        by_role("--retriever", [text], retriever_roles(), by_task=True)
    with pytest.raises(UsageError, match="no role"):
        by_role("--lm", [text], lm_roles())


def test_what_is_not_given_is_asked_for_by_name() -> None:
    with pytest.raises(NotRun, match=r"^needs --lm qwen-7b=SPEC, or --lm SPEC for all$"):
        fill({"vicuna-13b": "other"}, "--lm", "qwen-7b", "reader")
    with pytest.raises(NotRun, match=r"^needs --lm reader=SPEC, or"):
        fill({}, "--lm", None, "reader")


def test_what_stands_for_all_is_no_oracle_corpus() -> None:
    with pytest.raises(NotRun, match=r"^needs --retriever oracle=SPEC, over a corpus"):
        fill({"": "usual"}, "--retriever", "oracle")
    assert fill({"": "usual", "oracle": "other"}, "--retriever", "oracle") == "other"
