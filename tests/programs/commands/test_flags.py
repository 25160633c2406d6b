"""From flags to the LM, the retriever and the program."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import lms
from odqa.console import Parser
from programs.blendfilter import BlendFilter
from programs.commands.flags import (
    adapter_of,
    add_environment,
    add_settings,
    load_lm,
    load_retriever,
    make,
    settings_of,
)
from programs.cot import CoT
from programs.instruments.adapters import adapter_name
from programs.instruments.state import save_state
from retrieval import Memory, UsageError
from retrieval.bm25.search import BM25


def recipe(
    program: object, *, turns: int = 2, rate: float | None = None, greedy: bool = True, order: Literal["a", "b"] = "a"
) -> None:
    """A callable with settings.

    Args:
        program: No setting, because it is not keyword-only.
        turns: How many turns. Paper: 2, which is
            100 % of what it says.
        rate: The rate.
        greedy: Take the best.
        order: Which order.
    """


def parser_of(made_with: Callable[..., Any]) -> Parser:
    parser = Parser(prog="python -m x")
    add_environment(parser)
    add_settings(parser, made_with)
    return parser


def test_settings_become_flags_of_their_type() -> None:
    parser = parser_of(recipe)
    plain = parser.parse_args([])
    assert settings_of(recipe, plain) == {"turns": 2, "rate": None, "greedy": True, "order": "a"}
    given = parser.parse_args(["--turns", "5", "--rate", "0.5", "--no-greedy", "--order", "b"])
    assert settings_of(recipe, given) == {"turns": 5, "rate": 0.5, "greedy": False, "order": "b"}
    text = " ".join(parser.format_help().split())
    assert "--turns INT How many turns. Paper: 2, which is 100 % of what it says (default: 2)" in text
    assert "--order {a,b}" in text


@pytest.mark.parametrize(
    "wrong", [["--turns", "many"], ["--order", "c"], ["--program", "x"], ["--lm-arg", "top_p"], ["--adapter", "yaml"]]
)
def test_a_value_that_does_not_fit_is_refused(wrong: list[str]) -> None:
    with pytest.raises(SystemExit):
        parser_of(recipe).parse_args(wrong)


def test_a_program_gets_its_settings_and_its_state(tmp_path: Path) -> None:
    trained = BlendFilter(Memory([]))
    trained.answer.predict.demos = [{"question": "q", "answer": "a"}]
    save_state(trained, tmp_path / "state.json", {})
    args = parser_of(BlendFilter).parse_args(["--k", "7", "--no-internal", "--state", str(tmp_path / "state.json")])
    made = make(BlendFilter, args, Memory([]))
    assert (made.k, made.hops, made.recall) == (7, trained.hops, None)
    assert [demo["answer"] for demo in made.answer.predict.demos] == ["a"]


def test_only_some_programs_can_do_without_a_retriever() -> None:
    with pytest.raises(UsageError, match="BlendFilter needs a retriever"):
        make(BlendFilter, parser_of(BlendFilter).parse_args([]), None)
    assert isinstance(make(CoT, parser_of(CoT).parse_args([]), None), CoT)


def test_the_lm_has_the_address_and_the_temperature_that_are_given() -> None:
    parser = parser_of(recipe)
    lm = load_lm(parser.parse_args(["--lm", "openai/m", "--api-base", "http://127.0.0.1:9/v1", "--temperature", "0"]))
    assert (lm.model, lm.kwargs["api_base"], lm.kwargs["temperature"]) == ("openai/m", "http://127.0.0.1:9/v1", 0)
    assert load_lm(parser.parse_args(["--lm", "openai/m"])).kwargs.get("temperature") is None


def test_the_lm_has_the_arguments_that_are_given() -> None:
    parser = parser_of(recipe)
    flags = ["--max-tokens", "9", "--lm-arg", "top_p=0.9", "--lm-arg", 'stop=["."]', "--lm-arg", "user=me=you"]
    lm = load_lm(parser.parse_args(["--lm", "openai/m", *flags]))
    assert {name: lm.kwargs[name] for name in ("max_tokens", "top_p", "stop", "user")} == {
        "max_tokens": 9,
        "top_p": 0.9,
        "stop": ["."],
        "user": "me=you",
    }
    assert load_lm(parser.parse_args(["--lm", "openai/m"])).kwargs["max_tokens"] == lms.MAX_TOKENS
    assert load_lm(parser.parse_args(["--lm", "openai/m", "--lm-arg", "max_tokens=null"])).kwargs["max_tokens"] is None


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (["--temperature", "1", "--lm-arg", "temperature=0"], "temperature of the LM is given twice"),
        (["--lm-arg", "top_p=1", "--lm-arg", "top_p=0"], "top_p of the LM is given twice"),
        (["--lm-arg", "cache=true"], "--lm-arg cache is --cache"),
        (["--lm-arg", "model=openai/n"], "--lm-arg model is --lm"),
        (["--lm-arg", "num_retries=-1"], "num_retries must be"),
        (["--lm-arg", "max_tokens=abc"], "max_tokens of the LM should be a valid integer, not 'abc'"),
        (["--lm-arg", "temperature=true"], "temperature of the LM should be a valid number, not True"),
        (["--lm-arg", "top_p=7"], "top_p of the LM should be less than or equal to 1, not 7"),
        (["--lm-arg", "timeout=0"], "timeout of the LM should be greater than 0"),
        (["--lm-timeout", "inf"], "timeout of the LM should be a finite number"),
        (["--lm-timeout", "5", "--lm-arg", "timeout=6"], "timeout of the LM is given twice"),
        (["--lm", "extractive", "--lm-arg", "top_k=5"], "the extractive reader has no setting 'top_k'"),
    ],
)
def test_arguments_of_the_lm_that_cannot_be(wrong: list[str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        load_lm(parser_of(recipe).parse_args(["--lm", "openai/m", *wrong]))


def test_the_adapter_is_chat_whatever_dspys_default_is() -> None:
    parser = parser_of(recipe)

    def named(*flags: str) -> str:
        return adapter_name(adapter_of(parser.parse_args(flags)))

    assert (named(), named("--structured", "on"), named("--adapter", "xml")) == ("chat", "json", "xml")
    with pytest.raises(UsageError, match="use json"):
        named("--adapter", "xml", "--structured", "on")


def test_the_environment_gives_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODQA_RETRIEVER", "none")
    monkeypatch.setenv("ODQA_API_BASE", "http://127.0.0.1:9/v1")
    args = parser_of(recipe).parse_args([])
    assert (args.retriever, args.api_base) == ("none", "http://127.0.0.1:9/v1")


def test_the_sample_is_named_on_stderr_and_none_is_no_retriever(capsys: pytest.CaptureFixture[str]) -> None:
    parser = parser_of(recipe)
    assert isinstance(load_retriever(parser.parse_args([])), BM25)
    assert capsys.readouterr().err.startswith("retriever: sample ")
    assert load_retriever(parser.parse_args(["--retriever", "none"])) is None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("wrong", [["--temperature", "-1"], ["--temperature", "nan"], ["--max-tokens", "0"]])
def test_a_temperature_and_a_length_that_cannot_be_are_refused(wrong: list[str]) -> None:
    parser = Parser()
    add_environment(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(wrong)


@pytest.mark.parametrize(
    ("flags", "adapter"),
    [
        (["--lm", "gguf:model.gguf"], "json"),
        (["--lm", "gguf:model.gguf", "--adapter", "chat"], "chat"),
        (["--lm", "openai/gguf:m"], "chat"),
        (["--lm", "auto"], "json"),  # by ODQA_LM
        (["--lm", "extractive"], "chat"),
    ],
)
def test_a_local_model_is_asked_for_json(flags: list[str], adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODQA_LM", "gguf:model.gguf")
    assert adapter_name(adapter_of(parser_of(CoT).parse_args(flags))) == adapter


@pytest.mark.parametrize(
    ("lm", "adapter"), [(None, "chat"), (["openai/m", "reader=gguf:m=1.gguf"], "json"), (["reader=openai/m"], "chat")]
)
def test_a_local_model_in_one_of_several_roles_is_asked_for_json_too(
    lm: list[str] | None, adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ODQA_LM", raising=False)
    assert adapter_name(adapter_of(Namespace(lm=lm, adapter=None, structured="auto"))) == adapter
