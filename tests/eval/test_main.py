import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from eval.__main__ import main
from programs import names
from programs._cli import run


def call(*arguments: str) -> int | str | None:
    """Run the command line in this process; returns the exit status."""
    with pytest.raises(SystemExit) as ended:
        run("python -m eval", lambda: main(arguments))
    return ended.value.code


def test_from_the_command_to_the_files(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "eval", "sample", "--program", "blendfilter", "--limit", "6", "--k", "3"],
        cwd=tmp_path,
        env={**os.environ, "ODQA_LM": "extractive"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (directory,) = (tmp_path / "runs").iterdir()
    assert directory.name.startswith("sample-blendfilter-2")
    assert f"run: runs/{directory.name}\n" in done.stderr
    assert "Traceback" not in done.stderr

    run, _, header, overall, *_ = done.stdout.split("\n")
    assert run == "task sample, program blendfilter, lm extractive/reader, retriever sample"
    assert header.split()[:5] == ["n", "failed", "unparsable", "EM", "F1"]
    assert overall.split()[:4] == ["all", "6", "0", "0"]

    rows = [json.loads(line) for line in (directory / "rows.jsonl").read_bytes().splitlines()]
    assert len(rows) == 6
    for row in rows:
        assert (row["error"], row["cost"]["lm_calls"], row["cost"]["searches"]) == (None, 7, 3)
        assert all(len(found) == 3 for found in row["prediction"]["found"].values())

    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert summary["complete"] is True
    assert summary["total"]["n"] == 6
    manifest = summary["manifest"]
    assert (manifest["task"], manifest["program"], manifest["retriever"]) == ("sample", "blendfilter", "sample")
    assert (manifest["limit"], manifest["settings"]["k"], manifest["settings"]["filter"]) == (6, 3, "each")
    assert {"lm", "state", "questions", "versions", "started"} <= set(manifest)


def test_help_is_complete_also_for_a_chosen_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--help") == 0
    general = capsys.readouterr().out
    for flag in "TASK", "--program", "--retriever", "--lm", "--api-base", "--state", "--limit", "--threads", "--run":
        assert flag in general
    assert "--hops" not in general
    for name in names():
        assert call("--program", name, "--help") == 0
        capsys.readouterr()
    assert call("--program", "blendfilter", "--help") == 0
    chosen = capsys.readouterr().out
    for flag in "--k INT", "--hops INT", "--filter {each,union,off}", "--no-internal", "--threads N":
        assert flag in chosen


GOOD = ["sample", "--program", "blendfilter", "--lm", "extractive"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "the following arguments are required: TASK, --program"),
        (["sample"], "the following arguments are required: --program"),
        (["sample", "--program", ""], "there is no program ''"),
        (["sample", "--program"], "argument --program: expected one argument"),
        (["sample", "--program", "blendfiltre"], "there is no program 'blendfiltre'; there are: "),
        (["simple", *GOOD[1:]], "there is no task 'simple': use sample or file:QUESTIONS.jsonl[.gz]"),
        (["file:missing.jsonl", *GOOD[1:]], "cannot read missing.jsonl: No such file or directory"),
        ([*GOOD, "--retriever", "elastic:x"], "unknown retriever 'elastic:x'"),
        ([*GOOD, "--retriever", "none"], "BlendFilter needs a retriever"),
        ([*GOOD, "--lm", "nonsense"], "there is no LM 'nonsense'"),
        ([*GOOD, "--state", "missing.json"], "cannot read the state file missing.json"),
        ([*GOOD, "--limit", "0"], "limit is a number of questions and must be at least 1, not 0"),
        ([*GOOD, "--limit", "some"], "argument --limit: invalid int value: 'some'"),
        ([*GOOD, "--threads", "0"], "threads must be at least 1, not 0"),
        ([*GOOD, "--hops", "0"], "hops must be at least 1, not 0"),
        ([*GOOD, "--style", "long"], "argument --style: invalid choice: 'long'"),
        ([*GOOD, "--beam", "2"], "unrecognized arguments: --beam 2"),
        ([*GOOD, "--run", "here"], "here holds other files than a run's"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "thesis.tex").touch()
    assert call(*arguments) == 2
    output, errors = capsys.readouterr()
    talk = [line for line in errors.splitlines() if not line.startswith(("retriever: ", "run: "))]
    assert len(talk) == 1
    assert talk[0].startswith(f"python -m eval: error: {complaint}")
    assert output == ""
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_a_server_that_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between retries
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    directory = tmp_path / "run"
    url = f"http://me:secret@127.0.0.1:{port}"
    assert call(*GOOD, "--retriever", f"colbertv2:{url}", "--run", str(directory)) == 2
    output, errors = capsys.readouterr()
    assert (output, errors.count("\n")) == ("", 2)
    assert "questions that were asked failed, the first with RetrievalError: no ColBERTv2 server answers" in errors
    assert "secret" not in errors + "".join(path.read_text() for path in directory.iterdir())
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["retriever"] == f"colbertv2:http://***@127.0.0.1:{port}"


def test_a_run_is_taken_up_with_the_same_flags_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [*GOOD, "--limit", "3", "--run", str(tmp_path / "run")]
    assert call(*flags) == 0
    table, rows = capsys.readouterr().out, (tmp_path / "run" / "rows.jsonl").read_bytes()
    assert call(*flags, "--threads", "1") == 0
    assert (capsys.readouterr().out, (tmp_path / "run" / "rows.jsonl").read_bytes()) == (table, rows)
    assert call(*flags, "--k", "4") == 2
    assert "holds another run, with different settings; choose another directory" in capsys.readouterr().err
