"""The command line, in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import programs
from optimizers import names
from optimizers.__main__ import make_parser


def run(*words: str, at: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ODQA_LM": "extractive"}
    command = [sys.executable, "-m", "optimizers", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=at, env=environment, timeout=110)


COMMON = ("direct", "--task", "sample", "--train", "6", "--dev", "4", "--run", "run")


def test_from_flags_to_a_state_file_and_a_report(tmp_path: Path) -> None:
    done = run(*COMMON, "--recipe", "labeled_few_shot", "--demonstrations", "2", "--out", "s.json", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "  instructions as they were\n  2 demonstrations:\n    1. context: [1] " in done.stdout
    assert "compiled with 0 LM calls; wrote s.json" in done.stdout
    manifest = json.loads((tmp_path / "s.json").read_text())["manifest"]
    assert manifest["recipe_settings"] == {"demonstrations": 2}
    assert (manifest["recipe"], manifest["task"], manifest["metric"], manifest["seed"]) == (
        *("labeled_few_shot", "sample", "em"),
        0,
    )
    # The same directory with another recipe is another run.
    other = run(*COMMON, "--recipe", "bootstrap_few_shot", "--out", "t.json", at=tmp_path)
    assert other.returncode == 2
    assert other.stderr.splitlines()[-1].startswith("python -m optimizers: error: ")


def test_talk_goes_to_stderr_without_bars_and_a_state_that_cannot_be_is_refused(tmp_path: Path) -> None:
    done = run(*COMMON, "--recipe", "bootstrap_few_shot", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("before\n")
    assert "it/s" not in done.stderr
    assert done.stdout.endswith("LM calls\n")
    refused = run(*COMMON, "--recipe", "knn_few_shot", "--out", "s.json", at=tmp_path)
    assert refused.returncode == 2
    assert "knn_few_shot makes no state file: its program keeps the train questions" in refused.stderr


@pytest.mark.parametrize("recipe", names())
def test_settings_of_programs_and_recipes_have_flags_of_their_own(recipe: str) -> None:
    for program in programs.names():
        text = make_parser([program, f"--recipe={recipe}"]).format_help()
        assert f"settings of optimizers.{recipe}" in text
        assert f"settings of {programs.load(program).__name__}" in text
