"""`odqa`: its commands are those of the rooms, and everything it says names them as it was called."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import exit_code, without_help

from odqa.__main__ import COMMANDS, main, make_parser


@pytest.fixture(autouse=True)
def called_as_odqa(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/odqa"])


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, ["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n    {name}" in shown for name in COMMANDS)
    assert without_help(make_parser()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_in_its_own_name(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, [command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: odqa {command} ")
    assert "python -m" not in shown


def test_a_method_answers_and_its_help_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, ["ask", "direct", "Which general led the Italian troops at Adwa?", "--quiet"]) == 0
    assert capsys.readouterr() == ("Oreste Baratieri\n", "")
    assert exit_code(main, ["ask", "blendfilter", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: odqa ask blendfilter [-h]")


def test_an_index_is_built_and_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, index = tmp_path / "corpus.jsonl", tmp_path / "index"
    corpus.write_text('{"id": "a", "title": "Cats", "text": "Cats chase mice."}\n')
    assert exit_code(main, ["index", "--backend", "bm25", "--corpus", str(corpus), "--out", str(index)]) == 0
    capsys.readouterr()
    assert exit_code(main, ["search", f"bm25:{index}", "cat"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Cats"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "odqa: error: the following arguments are required: COMMAND; --help lists the flags"),
        (["nonsense"], "odqa: error: argument COMMAND: invalid choice: 'nonsense'; there are: ask, serve, eval, "),
        (["evl", "sample"], "odqa: error: argument COMMAND: invalid choice: 'evl'; did you mean eval? There are: "),
        (["search", "bm25:no", "x"], "odqa: error: there is no BM25 index in no: build one with `odqa index`"),
        (["serve-passages"], "odqa serve-passages: error: the following arguments are required: SPEC"),
        (["eval", "compare"], "odqa eval compare: error: the following arguments are required: RUN"),
        (["ask", "nonsense"], "odqa ask: error: there is no program 'nonsense'"),
        (["ask", "direct"], "odqa ask direct: error: the following arguments are required: question"),
        pytest.param(
            *(["serve", "nonsense"], "odqa serve: error: there is no program 'nonsense'"),
            marks=pytest.mark.needs("uvicorn"),
        ),
        (["optimize"], "odqa optimize: error: the following arguments are required: PROGRAM"),
        (["completion"], "odqa completion: error: the following arguments are required: shell"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(
    words: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code(main, words) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith(complaint)


def test_an_interrupt_of_the_imports_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "dspy.py").write_text("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(1)")
    (tmp_path / "odqa").write_text("from odqa.__main__ import main\nmain()\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, str(tmp_path / "odqa"), "ask", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
