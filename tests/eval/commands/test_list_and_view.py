"""What lies under a folder, and each of it shown."""

import json
import os
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.command_line import exit_code

from eval.__main__ import main
from programs.instruments.state import save_state


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    flags = ["--program", "blendfilter", "--lm", "extractive", "--limit", "3"]
    assert exit_code(main, ["sample", *flags, "--run", str(folder / "whole")]) == 0
    assert exit_code(main, ["sample", *flags, "--max-calls", "8", "--run", str(folder / "cut")]) == 0
    page = ["--out", str(folder / "page.html"), "--title", "Of <all>", "--tables", str(folder / "tables")]
    assert exit_code(main, ["report", str(folder / "whole"), *page]) == 0
    scores = {"n": 2, "failed": 0, "scores": {"em": {"mean": 0.5}}}
    save_state(dspy.ChainOfThought("question -> answer"), folder / "state.json", {"recipe": "gepa", "after": scores})
    (folder / "damaged").mkdir()
    (folder / "damaged" / "manifest.json").write_text("{")
    (folder / "other.json").write_text("[1]")
    (folder / "other.html").write_text("<title>x</title>")
    return folder


def test_the_list_has_runs_states_and_reports(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, ["list", str(folder)]) == 0
    runs, states, reports = (part.splitlines() for part in capsys.readouterr().out.split("\n\n"))
    by_name = {line.split()[0]: line for line in runs[1:]}
    assert list(by_name) == [str(folder / name) for name in ("cut", "damaged", "whole")]
    summary = json.loads((folder / "whole" / "summary.json").read_text())
    score = next(iter(summary["total"]["scores"].values()))
    shown = by_name[str(folder / "whole")]
    for said in ("blendfilter", "sample", "extractive/reader", "3/3", f"{100 * score['mean']:.1f}", "complete"):
        assert said in shown
    assert f"[{100 * score['low']:.1f}, {100 * score['high']:.1f}]" in shown
    assert "the limit of 8 LM calls is reached" in by_name[str(folder / "cut")]
    assert "is damaged" in by_name[str(folder / "damaged")]
    assert states[1].split() == [str(folder / "state.json"), "ChainOfThought", "gepa", "–", "EM", "50.0"]
    assert reports[1].split("  ") == [str(folder / "page.html"), "Of <all>"]
    assert len(states) == len(reports) == 2


def test_a_run_under_way_has_no_figures_yet(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").mkdir()
    for name in ("manifest.json", "rows.jsonl"):
        text = (folder / "whole" / name).read_text()
        (tmp_path / "run" / name).write_text(text if name == "manifest.json" else text.splitlines()[0] + "\n")
    assert exit_code(main, ["list", str(tmp_path)]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert "1/3" in line
    assert line.endswith("it was killed, or is under way")


def test_a_run_is_shown_and_a_question_of_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, ["view", str(folder / "whole")]) == 0
    text = capsys.readouterr().out
    for said in ("settings.k", "LM calls", "why wrong", f"odqa eval report {folder / 'whole'}"):
        assert said in text
    id_ = json.loads((folder / "whole" / "rows.jsonl").read_text().splitlines()[0])["id"]
    assert exit_code(main, ["view", str(folder / "whole"), id_]) == 0
    question = capsys.readouterr().out
    for said in (f"{id_}: ", "answer: ", "gold: ", "query 1: ", "  found: ★ ", "passages:\n", " for the question"):
        assert said in question
    assert "[[ ## question ## ]]" not in question
    assert exit_code(main, ["view", str(folder / "whole"), id_, "--prompts"]) == 0
    prompts = capsys.readouterr().out
    for said in ("--- call 1: ", "[system]\n", "[user]\n[[ ## ", "[reply]\n[[ ## ", "select.predict"):
        assert said in prompts
    assert prompts.count("--- call ") == 7


@pytest.mark.parametrize(
    "content",
    [
        '{"a":' * 100_000,
        '{"manifest": {}, "metadata": {}, "p": 5}',
        '{"manifest": {}, "metadata": {}, "p": {"signature": 5}}',
        '{"manifest": {}, "metadata": {}, "p": {"demos": null}}',
    ],
)
def test_what_is_like_a_state_is_none(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "state.json").write_text(content)
    os.mkfifo(tmp_path / "pipe.json")
    os.mkfifo(tmp_path / "pipe.html")
    assert exit_code(main, ["list", str(tmp_path)]) == 0
    assert "there are no runs" in capsys.readouterr().out
    assert exit_code(main, ["view", str(tmp_path / "state.json")]) == 2


@pytest.mark.parametrize("before", [5, {"scores": {"em": 5}}, {"scores": [1]}, {"scores": {"em": {"mean": "x"}}}])
def test_a_state_of_another_maker_is_listed(tmp_path: Path, before: Any, capsys: pytest.CaptureFixture[str]) -> None:
    state = {"manifest": {"program": "\x1b[31mred", "before": before}, "metadata": {}}
    (tmp_path / "state.json").write_text(json.dumps(state))
    assert exit_code(main, ["list", str(tmp_path)]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert line.split() == [str(tmp_path / "state.json"), "\\u001b[31mred", "–", "–", "–"]


def test_a_state_and_a_report_are_shown(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exit_code(main, ["view", str(folder / "state.json")]) == 0
    text = capsys.readouterr().out
    assert "gepa" in text
    assert "predict: 0 demonstrations\nGiven the fields `question`, produce the fields `answer`." in text
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: bool(opened.append(address)))
    assert exit_code(main, ["view", str(folder / "page.html")]) == 0
    assert opened == [(folder / "page.html").as_uri()]
    assert f"the report is {opened[0]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["list", "nowhere"], "there is no folder"),
        (["view", "nowhere"], "is no directory of a run, no state file and no report"),
        (["view", "other.json"], "is no directory of a run, no state file and no report"),
        (["view", "damaged"], "is damaged"),
        (["view", "whole", "nope"], "the run has no question 'nope'; its first ones are sample-"),
        (["view", "state.json", "q"], "only runs have questions"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(main, [arguments[0], str(folder / arguments[1]), *arguments[2:]]) == 2
    output, errors = capsys.readouterr()
    assert (output, errors.count("\n")) == ("", 1)
    assert complaint in errors
