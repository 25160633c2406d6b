import json

import pytest
from support.command_line import exit_code
from support.terminal import Terminal

from eval.__main__ import main


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    made = []
    for program in "direct", "cot", "blendfilter":
        made.append(str(tmp_path_factory.mktemp("runs") / program))
        flags = ["--program", program, "--lm", "extractive", "--limit", "3", "--run", made[-1]]
        assert exit_code(main, ["sample", *flags]) == 0
    return made


def test_directories_joined_by_commas_count_as_one_run(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert exit_code(main, ["compare", f"{runs[0]},{runs[1]}", runs[2], "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in compared["runs"]] == [f"{runs[0]}, {runs[1]}", runs[2]]
    assert [run["summary"]["total"]["cost"]["lm_calls"] for run in compared["runs"]] == [2, 7]


def test_the_metrics_are_chosen(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert exit_code(main, ["compare", *runs, "--metric", "f1,em", "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert compared["metrics"] == ["f1", "em"]
    assert {(d["first"], d["second"]) for d in compared["differences"]} == {
        (runs[0], runs[1]),
        (runs[0], runs[2]),
        (runs[1], runs[2]),
    }


def test_a_terminal_gets_bars(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert exit_code(main, ["compare", *runs[:2], "--metric", "f1"]) == 0
    for bar in "summarising", "comparing":
        assert ": 100%" in terminal.last(bar)
