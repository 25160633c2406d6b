"""Sets of runs from the command line: planned, made, taken up, limited, and with runs that fail."""

import gc
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import exit_code
from support.faulty_server import Provider
from support.scripted import render

from eval.__main__ import main
from eval.runs.runner import evaluate
from eval.runs.store import read

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SET = """
tasks = "sample"
programs = [{ program = "direct", settings = { k = [2, 3] } }, "cot"]
lms = ["extractive", "oracle"]
limit = 3
metrics = ["em", "recall_evidence"]
"""
SERVED = """
tasks = "sample"
programs = "direct"
lms = {{ lm = "openai/gpt-4o-mini", api_base = "{url}", temperature = {temperature} }}
retrievers = ["sample", "none"]
seeds = [0, 1]
limit = 3
"""


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text(SET)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-environment")
    with Provider(lambda prompt, before: render({"answer": f"Rome {before}"})).running() as provider:
        Path("my.toml").write_text(SERVED.format(url=provider.url, temperature=1.0))
        yield provider
    gc.collect()  # sockets that LiteLLM left open, while the warnings about them are ignored


def call(*flags: str) -> int | str | None:
    return exit_code(main, ["set", "my.toml", *flags])


def runs() -> list[str]:
    return sorted(str(path.parent) for path in Path("runs").rglob("manifest.json"))


def test_all_runs_are_planned_and_nothing_is_asked_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--plan") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["run", "questions", "left", "LM", "calls", "at", "most", "USD", "at", "most"]
    assert lines[1][0].startswith("runs/my/sample/direct-k2-sample-extractive-")
    assert lines[4][0].startswith("runs/my/sample/direct-k3-sample-oracle-")
    assert lines[5][1:] == ["3", "3", "3", "6", "0.00", "0.00"]
    assert lines[7] == ["6", "runs", "18", "18", "18", "36", "0.00", "0.00"]
    assert not Path("runs").exists()


def test_all_runs_are_made_once_and_stand_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert call() == 0
    table, talk = capsys.readouterr()
    lines = table.splitlines()
    assert lines[0] == "6 runs: task sample, retriever sample, adapter chat, structured auto, seed 0"
    shown = "program settings lm n failed unparsable EM titles kept LM calls searches tokens in tokens out seconds USD"
    assert " ".join(lines[2].split()) == f"{shown} state"
    assert [line.split()[:3] for line in lines[3:7]] == [["direct", "k", "2"]] * 2 + [["direct", "k", "3"]] * 2
    assert all(line.endswith("complete") and "[" in line for line in lines[3:9])
    assert "odqa eval compare runs/my/sample/*\n" in talk
    made = {name: (Path(name) / "rows.jsonl").stat().st_mtime_ns for name in runs()}
    assert len(made) == 6

    Path("my.toml").write_text(SET.replace("[2, 3]", "[2, 3, 4]"))
    assert call() == 0
    table, talk = capsys.readouterr()
    assert talk.count("which is finished") == 6
    assert len(runs()) == 8
    assert all((Path(name) / "rows.jsonl").stat().st_mtime_ns == time for name, time in made.items())
    manifest = read(runs()[0]).manifest
    assert (manifest.program, manifest.lm, manifest.metrics) == ("cot", "extractive/reader", ("em", "recall_evidence"))
    assert exit_code(main, ["compare", *map(str, Path("runs/my/sample").iterdir())]) == 0


def test_another_lm_stands_in_place_of_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--lm", "oracle:0.5", "--limit", "1", "--runs", "here") == 0
    assert capsys.readouterr().out.startswith("3 runs: ")
    manifests = [read(path.parent).manifest for path in Path("here").rglob("manifest.json")]
    assert [(manifest.lm, manifest.asked) for manifest in manifests] == [("oracle/error-rate-0.5", 1)] * 3


def test_seeds_are_runs_of_their_own_where_they_change_replies(
    provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call() == 0
    assert len(runs()) == 4
    assert provider.asked == 12
    assert capsys.readouterr().err.count("the same replies") == 0
    Path("my.toml").write_text(SERVED.format(url=provider.url, temperature=0))
    assert call("--runs", "cold") == 0
    assert "openai/gpt-4o-mini gives the same replies with every seed: only seed 0 is run" in capsys.readouterr().err
    assert len(list(Path("cold").rglob("manifest.json"))) == 2


def test_limits_hold_for_all_runs_together_and_another_one_goes_on(
    provider: Provider, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("--max-calls", "5", "--threads", "1") == 0
    table, talk = capsys.readouterr()
    assert provider.asked == 5
    states = [line.rpartition("  ")[2] for line in table.splitlines()[3:7]]
    assert states == ["complete", *["the limit of 5 LM calls is reached"] * 3]
    assert "to continue, repeat the command with another limit" in talk
    cost = 5 * read(runs()[0]).rows[0].cost.usd  # type: ignore[operator]
    assert call("--max-usd", str(cost), "--threads", "1") == 0
    assert "US dollars is reached" in capsys.readouterr().out
    assert provider.asked == 5
    assert call("--max-usd", "1", "--max-minutes", "9") == 0
    assert provider.asked == 12


def test_the_floor_costs_no_dollars(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--max-usd", "1", "--limit", "1") == 0
    assert capsys.readouterr().out.count("complete\n") == 6


def test_a_plan_has_prices_of_what_is_left(provider: Provider, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--plan") == 0
    before = float(capsys.readouterr().out.splitlines()[5].split()[-1])
    assert call("--max-calls", "6", "--threads", "1") == 0
    capsys.readouterr()
    assert call("--plan") == 0
    last = capsys.readouterr().out.splitlines()[5].split()
    assert last[:4] == ["4", "runs", "12", "6"]
    assert float(last[-1]) <= before
    assert provider.asked == 6


def test_a_run_that_fails_does_not_end_the_others(provider: Provider, capsys: pytest.CaptureFixture[str]) -> None:
    provider.refuses = lambda body: "[[ ## context ## ]]" in str(body["messages"][-1]["content"])
    assert call() == 2
    table, talk = capsys.readouterr()
    states = [line.rpartition("  ")[2] for line in table.splitlines()[3:7]]
    assert [state.partition(":")[0] for state in states] == ["FAILED", "FAILED", "complete", "complete"]
    assert "2 of 4 runs failed, the first with all 3 questions that were asked failed" in talk.splitlines()[-1]
    provider.refuses = lambda body: False
    assert call() == 0
    assert "FAILED" not in capsys.readouterr().out


def test_a_damaged_run_is_one_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--limit", "1") == 0
    (Path(runs()[0]) / "manifest.json").write_text("{")
    capsys.readouterr()
    assert call("--limit", "1") == 2
    table, talk = capsys.readouterr()
    assert table.count("complete\n") == 5
    assert f"1 of 6 runs failed, the first with {runs()[0]}/manifest.json, line 1 is damaged: " in talk


def test_an_interrupted_set_shows_what_it_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = [1, 1]

    def interrupted(*arguments: object, **settings: object) -> object:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return evaluate(*arguments, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr("eval.runs.prepare.evaluate", interrupted)
    assert call() == 130
    table, talk = capsys.readouterr()
    states = [line.rpartition("  ")[2] for line in table.splitlines()[3:9]]
    assert states == ["complete"] * 2 + ["not run"] * 4
    assert talk.endswith("interrupted; to continue, repeat the command\n")


@pytest.mark.slow
def test_a_set_that_was_killed_goes_on_and_pays_for_nothing_twice(provider: Provider, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "eval", "set", "my.toml", "--threads", "1"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(number: int) -> None:
        if number == 5:
            provider.hold.set()
            os.kill(process.pid, signal.SIGKILL)

    provider.arrived = kill
    assert process.wait() == -signal.SIGKILL
    provider.hold.clear()
    paid = sum(provider.paid.values())
    assert paid == 4
    assert call() == 0
    assert sum(provider.paid.values()) == 12
    assert [len(read(name).rows) for name in runs()] == [3] * 4


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--api-base", "http://x"], "--api-base goes with --lm: an LM in the file has its own api_base"),
        (["--lm", "nonsense"], "my.toml: sample, direct, k 2: there is no LM 'nonsense'"),
        (["--runs", "my.toml"], "the runs need a folder, and my.toml is none: choose another with --runs"),
        (["--max-calls", "0"], "the limit of calls must be above 0, not 0"),
        (["--max-usd", "1", "--lm", "ollama_chat/nobody"], "the price of ollama_chat/nobody is unknown"),
    ],
)
def test_mistakes_are_said_before_anything_is_run(
    flags: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*flags) == 2
    output, talk = capsys.readouterr()
    assert output == ""
    assert talk.splitlines()[-1].startswith(f"odqa eval: error: {complaint}")
    assert not Path("runs").exists()


def test_the_set_in_the_guide_can_be_planned(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", guide, re.M | re.S)
    Path("my.toml").write_text(text)
    assert call("--plan", "--limit", "1") == 0
    assert capsys.readouterr().out.count("runs/my/sample/") == 14
