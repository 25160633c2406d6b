import pytest

from eval.papers.measuring import NotRun
from eval.papers.roles import by_role, fill, lm_roles, retriever_roles
from retrieval import UsageError


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
