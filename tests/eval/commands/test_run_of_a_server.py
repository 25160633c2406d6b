"""Runs over servers on loopback: what arrives there, what the manifest says, and which replies a run takes."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from support.command_line import exit_code
from support.faulty_server import Provider
from support.scripted import render

from eval.__main__ import main
from eval.papers.tables import Column, TableRow, find
from eval.runs.store import read

pytestmark = pytest.mark.leaves_sockets
COUNT = 3


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-environment")
    with Provider(lambda prompt, before: render({"answer": f"Rome {before}"})).running() as provider:
        yield provider


def call(provider: Provider, run: Path, *flags: str) -> int | str | None:
    words = ["sample", "--program", "direct", "--limit", str(COUNT), "--retriever", "sample", "--run", str(run)]
    return exit_code(main, [*words, "--lm", "openai/a-model-of-ours", "--api-base", provider.url, *flags])


def answers(run: Path) -> list[str | None]:
    return [row.prediction.answer for row in read(run).rows if row.prediction]


def test_what_the_flags_say_arrives_and_is_in_the_manifest(provider: Provider, tmp_path: Path) -> None:
    provider.reply = lambda prompt, before: '{"answer": "Rome"}'
    flags = ["--structured", "on", "--temperature", "0.5", "--max-tokens", "77", "--lm-arg", "top_p=0.9"]
    assert call(provider, tmp_path / "run", *flags, "--lm-arg", "user=me") == 0
    assert len(provider.bodies) == COUNT
    for body in provider.bodies:
        assert body["response_format"]["type"] == "json_schema"
        asked = body.get("max_tokens") or body["max_completion_tokens"]
        assert (body["temperature"], asked, body["top_p"], body["user"]) == (0.5, 77, 0.9, "me")
    known = read(tmp_path / "run").manifest.entries()
    assert {name: known[name] for name in ("lm", "api_base", "adapter", "structured", "temperature", "max_tokens")} == {
        "lm": "openai/a-model-of-ours",
        "api_base": provider.url,
        "adapter": "json",
        "structured": "on",
        "temperature": 0.5,
        "max_tokens": 77,
    }
    assert (known["lm_args"], known["cache"], known["seed"]) == ({"top_p": 0.9, "user": "me"}, False, 0)


def test_by_default_the_adapter_is_chat_and_no_reply_is_without_end(provider: Provider, tmp_path: Path) -> None:
    assert call(provider, tmp_path / "run") == 0
    for body in provider.bodies:
        assert "[[ ## answer ## ]]" in body["messages"][-1]["content"]
        assert (body.get("max_tokens") or body["max_completion_tokens"]) == 1024
    assert read(tmp_path / "run").manifest.entries()["adapter"] == "chat"


def test_a_run_with_other_settings_is_another_run(
    provider: Provider, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--temperature", "0.5"]
    assert call(provider, tmp_path / "run", *flags) == 0
    for other, name in {
        ("--adapter", "json"): "adapter",
        ("--structured", "off"): "structured",
        ("--max-tokens", "5"): "max_tokens",
        ("--lm-arg", "top_p=0.1"): "lm_args",
        ("--seed", "1"): "seed",
        ("--style", "yesno"): "settings",
        ("--temperature", "0.6"): "temperature",
        ("--cache",): "cache",
    }.items():
        assert call(provider, tmp_path / "run", *flags, *other) == 2
        assert f"holds another run, with different {name};" in capsys.readouterr().err
    assert provider.asked == COUNT


def test_a_server_that_never_replies_is_left_after_the_time_out_and_the_run_goes_on_with_another(
    provider: Provider, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.hold.set()
    given_up = ["--lm-timeout", "0.2", "--lm-arg", "num_retries=0", "--retries", "0"]
    assert call(provider, tmp_path / "run", *given_up) == 2
    assert f"all {COUNT} questions that were asked failed, the first with" in capsys.readouterr().err
    assert provider.asked == COUNT
    provider.hold.clear()
    assert call(provider, tmp_path / "run", "--lm-timeout", "60") == 0
    assert answers(tmp_path / "run") == ["Rome 0"] * COUNT


def test_a_model_name_on_two_servers_is_two_runs_and_a_second_run_asks_again(
    provider: Provider, tmp_path: Path
) -> None:
    with Provider(lambda prompt, before: render({"answer": "Paris"})).running() as other:
        assert call(provider, tmp_path / "a") == call(other, tmp_path / "b") == call(provider, tmp_path / "c") == 0
    assert answers(tmp_path / "a") == ["Rome 0"] * COUNT
    assert answers(tmp_path / "b") == ["Paris"] * COUNT
    assert answers(tmp_path / "c") == ["Rome 1"] * COUNT
    assert read(tmp_path / "b").manifest.entries()["api_base"] == other.url


def test_dspys_cache_is_used_on_request(provider: Provider, tmp_path: Path) -> None:
    salt = ["--lm-arg", f"user={tmp_path}", "--cache"]  # requests that no cache on disk knows
    for name in "ab":
        assert call(provider, tmp_path / name, *salt) == 0
    assert provider.asked == COUNT
    assert answers(tmp_path / "a") == answers(tmp_path / "b")
    assert [row.cost.cached_calls for row in read(tmp_path / "b").rows] == [1] * COUNT


def test_a_run_goes_on_and_pays_nothing_twice(provider: Provider, tmp_path: Path) -> None:
    flags = ["--threads", "1", "--program", "self_ask"]
    provider.reply = lambda prompt, before: render(
        {"needed": not before, "follow_up": "Who?", "answer": "Rome", "reasoning": "so"}
    )
    assert call(provider, tmp_path / "whole", *flags) == 0
    whole, paid = read(tmp_path / "whole"), provider.paid.total()
    provider.paid.clear()
    for limit in range(1, paid + 1):
        assert call(provider, tmp_path / "cut", *flags, "--max-calls", str(limit)) == 0
    cut = read(tmp_path / "cut")
    assert (provider.paid.total(), cut.gap) == (paid, None)
    costs = [[(row.cost.lm_calls, row.cost.cached_calls, row.cost.paid_input_tokens) for row in run.rows]
             for run in (cut, whole)]  # fmt: skip
    assert costs[0] == costs[1]


def test_attempts_are_runs_of_their_own_whose_best_answers_count(
    provider: Provider, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--attempts", "3", "--temperature", "1"]
    assert call(provider, tmp_path / "run", *flags) == 0
    runs = [tmp_path / f"run-{number}" for number in (1, 2, 3)]
    assert [answers(run) for run in runs] == [[f"Rome {n}"] * COUNT for n in range(3)]
    assert [read(run).manifest.entries()["seed"] for run in runs] == [0, 1, 2]
    assert "rollout_id" not in provider.bodies[-1]
    output, errors = capsys.readouterr()
    assert output.count("task sample, program direct") == 3
    best = ",".join(map(str, runs))
    assert f"odqa eval compare {best}" in errors
    assert call(provider, tmp_path / "run", *flags) == 0  # goes on, and there is nothing left to ask
    assert provider.asked == 3 * COUNT
    assert exit_code(main, ["compare", best, str(runs[0])]) == 0
    capsys.readouterr()
    for wrong in (
        ["--attempts", "0"],
        ["--attempts", "2", "--temperature", "0"],
        ["--seed", "1", "--temperature", "0"],
    ):
        assert call(provider, tmp_path / "wrong", *wrong) == 2


def test_attempts_that_share_dspys_cache_do_not_share_their_replies(provider: Provider, tmp_path: Path) -> None:
    salt = ["--lm-arg", f"user={tmp_path}", "--cache", "--attempts", "2", "--temperature", "1"]
    assert call(provider, tmp_path / "run", *salt) == 0
    assert answers(tmp_path / "run-1") != answers(tmp_path / "run-2")
    assert call(provider, tmp_path / "again", *salt) == 0
    assert provider.asked == 2 * COUNT


def one_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Makes migres:table8 a table with one figure, of one question; flags for it."""
    column = Column(name="Hotpot", task="hotpotqa:migres", metric="em")
    row = TableRow(name="Direct", figures=(Decimal("51.8"),), program="direct", retriever="none")
    table = find("migres:table8").model_copy(update={"columns": (column,), "rows": (row,)})
    for module in "tables", "measuring":
        monkeypatch.setattr(f"eval.papers.{module}.all_tables", lambda: [table])
    (tmp_path / "hotpotqa.dev.jsonl").write_text('{"id": "1", "question": "Which river is long?", "answers": ["Orm"]}')
    return ["--data", str(tmp_path), "--runs", str(tmp_path / "runs")]


def test_a_papers_table_is_asked_anew_with_other_settings_or_of_another_server(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [*one_cell(tmp_path, monkeypatch), "--lm", "openai/a-model-of-ours"]
    with Provider(lambda prompt, before: '{"answer": "Orm"}').running() as other:
        for server, *more in (
            (provider, "--temperature", "1"),
            (provider, "--temperature", "0"),
            (provider, "--temperature", "0", "--lm-arg", "top_p=0.5"),
            (other, "--temperature", "0", "--adapter", "json"),
            (other, "--temperature", "0", "--adapter", "json"),
        ):
            capsys.readouterr()
            assert exit_code(main, ["paper", "migres:table8", *flags, "--api-base", server.url, *more]) == 0
        out, err = capsys.readouterr()
        (line,) = (line for line in out.splitlines() if line.startswith("Direct  Hotpot"))
        assert line.split()[2:4] == ["51.8", "100.0"], out + err
        assert (provider.asked, other.asked) == (3, 1)  # the last two are the same run


def test_each_attempt_at_a_papers_table_is_a_run_of_its_own(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = one_cell(tmp_path, monkeypatch)
    flags = [*flags, "--lm", "openai/a-model-of-ours", "--api-base", provider.url]
    for more in ["--attempts", "2", "--seed", "1"], ["--seed", "2"]:
        assert exit_code(main, ["paper", "migres:table8", *flags, *more]) == 0
    printed = capsys.readouterr().out
    assert (printed.count("Seed 1\n"), printed.count("Seed 2\n"), printed.count("migres:table8: ")) == (1, 1, 3)
    assert provider.asked == 2  # the last run is there already
    assert sorted(read(run).manifest.entries()["seed"] for run in (tmp_path / "runs").iterdir()) == [1, 2]
    assert exit_code(main, ["paper", "migres:table8", *flags, "--attempts", "2", "--temperature", "0"]) == 2


@pytest.mark.parametrize("refused", [False, True])
def test_no_secret_is_in_the_files_of_a_run_nor_in_what_is_said(
    provider: Provider, tmp_path: Path, refused: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.refuses = lambda body: refused
    secrets: dict[str, Any] = {
        "api_key": "sk-secret-on-the-line",
        "extra_headers": {"X-Gateway": "sk-secret-in-a-header"},
        "extra_body": {"auth_token": "sk-secret-in-the-body", "note": "https://me:sk-secret-in-a-url@h/p"},
        "user": "sk-secret-of-the-environment",
    }
    flags = [word for name, value in secrets.items() for word in ("--lm-arg", f"{name}={json.dumps(value)}")]
    assert call(provider, tmp_path / "run", *flags) == (2 if refused else 0)
    assert "sk-secret" not in "".join(capsys.readouterr())
    assert not refused or "Authorization: Bearer ***" in (tmp_path / "run" / "rows.jsonl").read_text()
    for path in (tmp_path / "run").iterdir():
        assert "sk-secret" not in path.read_text(), path
    known = read(tmp_path / "run").manifest.entries()["lm_args"]
    assert known == {"extra_body": {"note": "https://***@h/p"}, "user": "***"}
