"""A program asked the questions of a task, from the command to the files."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command_line import exit_code
from support.smollm2 import smollm2

from eval.__main__ import main, make_parser
from eval.runs.runner import evaluate
from odqa.limits import Limiter, Limits
from programs import load as load_program


def call(*arguments: str) -> int | str | None:
    return exit_code(main, arguments)


def test_a_state_and_demonstrations_exclude_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load_program("direct")(None).save(tmp_path / "state.json")
    flags = ["--state", str(tmp_path / "state.json"), "--demonstrations", "2"]
    assert call("sample", "--program", "direct", "--lm", "extractive", *flags) == 2
    assert "give --state or --demonstrations, not both" in capsys.readouterr().err


@pytest.mark.slow
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
    lm = "extractive/reader = floor (extractive reader, no LM)"
    assert run == f"task sample, program blendfilter, lm {lm}, retriever sample"
    assert header.split()[:5] == ["n", "failed", "unparsable", "EM", "F1"]
    assert overall.split()[:4] == ["all", "6", "0", "0"]

    rows = [json.loads(line) for line in (directory / "rows.jsonl").read_bytes().splitlines()]
    assert len(rows) == 6
    for row in rows:
        assert (row["error"], row["cost"]["lm_calls"], row["cost"]["searches"]) == (None, 7, 3)
        assert all(len(found) == 3 for found in row["prediction"]["own"]["found"].values())

    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert summary["complete"] is True
    assert summary["total"]["n"] == 6
    manifest = summary["manifest"]
    assert list(manifest["fingerprints"]) == ["sample"]
    assert manifest["seed"] == 0
    assert (manifest["task"], manifest["program"], manifest["retriever"]) == ("sample", "blendfilter", "sample")
    assert (manifest["limit"], manifest["settings"]["k"], manifest["settings"]["filter"]) == (6, 3, "each")
    assert {"lm", "state", "questions", "versions", "started"} <= set(manifest)


def test_a_flag_is_in_the_manifest_or_may_change_when_a_run_is_taken_up(tmp_path: Path) -> None:
    """A new flag fails here until it is decided which of both it is."""
    may_change = {
        *("data", "run", "threads", "workers", "ray", "lm_calls", "retries", "max_calls", "max_usd", "max_minutes"),
        *("attempts", "mlflow", "command", "usual_lm"),
    }
    words = ["run", "sample", "--program", "qpaug", "--limit", "1", "--lm", "extractive", "--run", str(tmp_path / "r")]
    assert call(*words) == 0
    known = json.loads((tmp_path / "r" / "manifest.json").read_text())
    flags = set(vars(make_parser(words).parse_args(words)))
    assert flags - may_change <= {*known, *known["settings"]}
    assert not flags & may_change & {*known, *known["settings"]}


def test_the_word_run_may_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [*GOOD, "--limit", "2", "--run", str(tmp_path / "run")]
    assert call("run", *flags) == 0
    table = capsys.readouterr().out
    assert call(*flags) == 0
    assert capsys.readouterr().out == table
    assert call(*flags[1:], flags[0]) == 0  # flags before the task
    assert capsys.readouterr().out == table


GOOD = ["sample", "--program", "blendfilter", "--lm", "extractive"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "the following arguments are required: TASK, --program"),
        (["sample"], "the following arguments are required: --program"),
        (["sample", "--program", ""], "there is no program ''"),
        (["sample", "--program"], "argument --program: expected one argument"),
        (
            ["sample", "--program", "blendfiltre"],
            "there is no program 'blendfiltre'; did you mean blendfilter? ",
        ),
        (["simple", *GOOD[1:]], "there is no task 'simple': use sample, QUESTIONS.jsonl[.gz] or .csv, or hotpotqa, "),
        (["file:missing.jsonl", *GOOD[1:]], "cannot read missing.jsonl: No such file or directory"),
        ([*GOOD, "--retriever", "elastic:x"], "there is no retriever 'elastic:x'"),
        ([*GOOD, "--retriever", "none"], "BlendFilter needs a retriever"),
        ([*GOOD, "--lm", "nonsense"], "there is no LM 'nonsense'"),
        ([*GOOD, "--state", "missing.json"], "cannot read the state file missing.json"),
        ([*GOOD, "--metrics", "em,nonsense"], "there is no metric 'nonsense'; there are: em, f1, "),
        ([*GOOD, "--metrics", "acc_judge:extractive"], "extractive/reader is no judge of answers"),
        ([*GOOD, "--limit", "0"], "limit is a number of questions and must be at least 1, not 0"),
        ([*GOOD, "--limit", "some"], "argument --limit: invalid int value: 'some'"),
        ([*GOOD, "--threads", "0"], "threads must be at least 1, not 0"),
        ([*GOOD, "--lm-calls", "0"], "the number of LM calls in flight must be at least 1, not 0"),
        ([*GOOD, "--retries", "-1"], "retries must be 0 or more, not -1"),
        ([*GOOD, "--max-calls", "0"], "the limit of calls must be above 0, not 0"),
        ([*GOOD, "--max-usd", "5", "--lm", "ollama_chat/x"], "the price of ollama_chat/x is unknown, and so --max-usd"),
        (["hotpotqa:first", *GOOD[1:]], "hotpotqa has no variant 'first'; there are: all, blendfilter, "),
        ([*GOOD, "--demonstrations", "2"], "all questions of sample are asked, and none is left for demonstrations"),
        ([*GOOD, "--demonstrations", "0"], "the number of demonstrations must be at least 1, not 0"),
        ([*GOOD, "--hops", "0"], "BlendFilter: hops must be at least 1, not 0"),
        ([*GOOD, "--style", "long"], "argument --style: invalid choice: 'long'"),
        ([*GOOD, "--beam", "2"], "unrecognized arguments: --beam 2"),
        ([*GOOD, "--run", "here"], "here holds other files than a run's"),
        ([*GOOD, "--data", "nowhere"], "argument --data: there is no directory nowhere"),
        ([*GOOD, "--attempts", "2"], "every attempt gives the same replies with extractive/reader: leave out --seed"),
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
    assert talk[0].startswith(f"odqa eval: error: {complaint}")
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


def test_metrics_are_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    metrics = "f1,recall@2,answer_recall@3,citation_recall:lexical"
    assert call(*GOOD, "--limit", "2", "--run", str(run), "--metrics", metrics) == 0
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert summary["manifest"]["metrics"] == metrics.split(",")
    assert list(summary["total"]["scores"]) == metrics.split(",")[:3]  # the program reports no citations
    score = summary["total"]["scores"]["recall@2"]
    assert 0 <= score["low"] <= score["mean"] <= score["high"] <= 1


def test_demonstrations_are_shown_and_are_part_of_what_the_run_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [*GOOD, "--limit", "3", "--demonstrations", "2", "--run", str(tmp_path / "run")]
    assert call(*flags) == 0
    talk = capsys.readouterr().err
    assert "demonstrations by predictor: draft.predict 2, recall 0, topic 0, select.predict 0, answer.predict 2" in talk
    record = json.loads((tmp_path / "run" / "manifest.json").read_text())["demonstrations"]
    assert (record["count"], record["source"], len(record["questions"])) == (2, "sample", 2)
    assert all(f"\n  {id_}: " in talk for id_ in record["questions"])
    asked = [json.loads(line)["id"] for line in (tmp_path / "run" / "rows.jsonl").read_text().splitlines()]
    assert not set(record["questions"]) & set(asked)
    rows = (tmp_path / "run" / "rows.jsonl").read_bytes()
    assert call(*flags) == 0
    assert (tmp_path / "run" / "rows.jsonl").read_bytes() == rows
    capsys.readouterr()
    assert call(*GOOD, "--limit", "3", "--run", str(tmp_path / "run")) == 2
    assert "holds another run, with different demonstrations" in capsys.readouterr().err


def test_attempts_that_a_limit_stopped_go_on_under_the_name_that_they_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["sample", "--program", "direct", "--lm", "oracle:0.5", "--limit", "2", "--attempts", "2"]
    assert call(*flags, "--max-calls", "1", "--threads", "1") == 0
    errors = capsys.readouterr().err
    first, second = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert (first, second) == (f"{first[:-2]}-1", f"{first[:-2]}-2")
    assert errors.count(f"repeat the command with --run runs/{first[:-2]} and another limit") == 2


def test_an_interrupted_run_shows_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: Any, **settings: Any) -> None:
        evaluate(*arguments, **{**settings, "limiter": Limiter(Limits(calls=14)), "threads": 1})
        raise KeyboardInterrupt

    monkeypatch.setattr("eval.runs.prepare.evaluate", interrupted)
    assert call(*GOOD, "--limit", "3", "--run", str(tmp_path / "run")) == 130
    output, errors = capsys.readouterr()
    assert output.endswith("INCOMPLETE: 2 of 3 questions; interrupted.\n")
    assert f"interrupted; to continue, repeat the command with --run {tmp_path}/run" in errors


def test_several_attempts_of_a_local_model_need_a_temperature(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--lm", smollm2(), "--limit", "1", "--attempts", "2", "--run", str(tmp_path / "run")]
    assert call("sample", "--program", "direct", *flags) == 2
    assert ", whose temperature is 0 unless --temperature says otherwise: leave out --seed" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_local_copies_stand_for_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bamboogle.dev.jsonl").write_text('{"id": "1", "question": "Who?", "answers": ["Ada"]}\n')
    monkeypatch.setenv("ODQA_DATA", str(tmp_path))
    assert call("bamboogle", *GOOD[1:], "--run", str(tmp_path / "run")) == 0
    assert capsys.readouterr().out.startswith("task bamboogle, program blendfilter")
