"""The papers' tables from the command line: which parts of them, and with which LMs and retrievers."""

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.command_line import exit_code

from eval.__main__ import main
from eval.commands import paper
from eval.tasks import load
from lms.extractive import extractive_lm


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Flags for a local copy of HotpotQA, with the sample's questions in it, and for where the runs go."""
    for name in ("ODQA_RETRIEVER", "ODQA_API_BASE", "ODQA_DATA"):
        monkeypatch.delenv(name, raising=False)
    lines = [json.dumps(dict(example.items())) for example in load("sample", 6)]
    (tmp_path / "hotpotqa.dev.jsonl").write_text("\n".join(lines))
    return ["--data", str(tmp_path), "--runs", str(tmp_path / "runs"), "--limit", "1"]


def test_each_run_is_named_on_stderr_and_an_interrupt_says_how_to_go_on(
    data: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["blendfilter:table5", "--rows", "BlendFilter, BM25", "--columns", "F1", "--lm", "extractive", *data]
    printed(capsys, *chosen, "--retriever", "sample")
    (directory,) = (tmp_path / "runs").iterdir()
    assert exit_code(main, ["paper", *chosen, "--retriever", "sample"]) == 0
    assert f"BlendFilter, BM25, hotpotqa:blendfilter: {directory}\n" in capsys.readouterr().err

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("eval.runs.prepare.evaluate", interrupted)
    assert exit_code(main, ["paper", *chosen, "--retriever", "sample"]) == 130
    assert "interrupted; to continue, repeat the command\n" in capsys.readouterr().err


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert exit_code(main, ["paper", *arguments]) == 0
    return capsys.readouterr().out


def test_parts_of_a_table_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    parts = ["--rows", "CoT", "--rows", "self", "--columns", "F1"]
    shown = printed(capsys, "blendfilter:table4", "--show", *parts).splitlines()
    assert [line.split() for line in shown[-3:]] == [["F1"], ["CoT", "0.470"], ["SelfAsk", "0.393"]]


def test_only_what_is_chosen_and_given_is_run(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roles = ["--lm", "reader=extractive", "--retriever", "bm25=sample"]
    seen = printed(capsys, "blendfilter:table5", "--rows", "BlendFilter", "--columns", "F1", *roles, *data)
    assert "BlendFilter, ColBERTv2: needs --retriever colbertv2=SPEC, or --retriever SPEC for all" in seen
    assert "Retrieval: sample (paper: bm25)" in seen
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_what_the_environment_names_stands_for_all_unless_a_flag_does(
    data: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ODQA_RETRIEVER", "sample")
    chosen = ["blendfilter:table5", "--rows", "BlendFilter, ", "--columns", "F1", "--lm", "extractive", *data]
    assert "One retriever stands for colbertv2, bm25" in printed(capsys, *chosen)
    assert "needs --retriever bm25=SPEC" in printed(capsys, *chosen, "--retriever", "colbertv2=sample")


def test_each_lm_is_made_with_its_own_address_and_the_settings_of_all(
    data: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: set[tuple[Any, ...]] = set()

    def load_lm(spec: str, settings: Any, *_: Any) -> dspy.LM:
        made.add((spec, settings.get("api_base"), settings["temperature"]))
        return extractive_lm()

    monkeypatch.setattr(paper, "load_lm", load_lm)
    roles = ["--lm", "a/all", "--lm", "planner=a/plans", "--lm", "gpt-3.5=a/reads", "--temperature", "0.5"]
    addresses = ["--api-base", "http://one", "--api-base", "planner=http://two", "--api-base", "gpt-3.5="]
    rows = ["--rows", "GPT-4, SBERT + QPaug", "--rows", "GPT-3.5, SBERT", "--columns", "Hotpot F1"]
    printed(capsys, "qpaug:table3", *rows, *roles, *addresses, "--retriever", "sample", *data)
    assert made == {("a/all", "http://one", 0.5), ("a/plans", "http://two", 0.5), ("a/reads", None, 0.5)}


def test_a_setting_is_read_as_a_truth_value_a_number_or_a_word(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = ["chain_of_rewrite:table3", "--rows", "Baseline", "--columns", "NQ R@5", "--lm", "extractive", *data]
    (tmp_path / "nq.dev.jsonl").write_text(json.dumps({"id": "1", "question": "Which river?", "answers": ["Orm"]}))
    printed(capsys, *chosen, "--retriever", "sample", "--set", "style=entity")
    (manifest,) = (tmp_path / "runs").glob("*/manifest.json")
    assert json.loads(manifest.read_text())["settings"]["style"] == "entity"
    for false in ("False", "false", "0.5"):
        flags = ["--rows", "BlendFilter, BM25", "--retriever", "sample", "--set", f"filter={false}", *data]
        assert exit_code(main, ["paper", "blendfilter:table5", *flags]) == 2
        assert f"not {json.loads(false.lower())!r}" in capsys.readouterr().err


def test_limits_hold_for_all_runs_together(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["--rows", "Direct", "--rows", "CoT", "--columns", "F1", "--lm", "extractive", "--retriever", "sample"]
    limited = ["blendfilter:table4", *rows, *data, "--max-calls", "1"]
    seen = printed(capsys, *limited)
    assert "CoT: the limit of 1 LM calls is reached; to continue, repeat the command with another" in seen
    assert printed(capsys, *limited) == seen  # what is finished is shown
    unpriced = ["--lm", "ollama_chat/x", "--max-usd", "1"]
    assert exit_code(main, ["paper", "blendfilter:table4", *rows, *data, *unpriced]) == 2
    assert "the price of ollama_chat/x is unknown, and so --max-usd cannot be held" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--rows", "Nobody"], "there is no row 'Nobody'; there are: Direct, without retrieval; "),
        (["--columns", "F2"], "there is no column 'F2'; there are: Exact Match; F1"),
        (["--lm", "nobody=extractive"], "--lm: there is no role 'nobody'; there are: reader, planner, "),
        (["--retriever", "nobody=sample"], "--retriever: there is no role 'nobody'; there are: colbertv2, "),
        (["--set", "kk=3"], "no program here has the setting 'kk'; there are: "),
        (["--limit", "0"], "limit is a number of questions and must be at least 1, not 0"),
        (["--state", "cot=nowhere.json"], "there is no state file nowhere.json"),
        (["--data", "nowhere"], "argument --data: there is no directory nowhere"),
        (["--max-usd", "0"], "the limit of usd must be above 0, not 0"),
        (
            ["--lm", "extractive", "--api-base", "planner=http://x"],
            "--api-base planner=URL has no LM: give --lm planner",
        ),
    ],
)
def test_mistakes_are_one_line(
    flags: list[str], complaint: str, data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(main, ["paper", "blendfilter:table4", *data, *flags]) == 2
    output, errors = capsys.readouterr()
    assert (output, errors.count("\n")) == ("", 1)
    assert complaint in errors
    assert not (tmp_path / "runs").exists()


def test_where_nothing_can_be_run_it_fails(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["blendfilter:table5", "--rows", "BlendFilter, BM25", "--columns", "F1", "--lm", "extractive"]
    assert exit_code(main, ["paper", *chosen, *data]) == 2  # without a retriever
    told = capsys.readouterr()
    assert "BlendFilter, BM25" in told.out
    assert "nothing was run" in told.err
