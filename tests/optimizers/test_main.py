"""The command line, in a process of its own."""

import gzip
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import dspy
import pytest
from support.command_line import without_help
from support.patience import PATIENCE

import programs
from eval.metrics import em
from optimizers import load, names
from optimizers.__main__ import main, make_parser
from programs.direct import Direct
from retrieval import Memory, UsageError


def run(*words: str, at: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ODQA_LM": "extractive"}
    command = [sys.executable, "-m", "optimizers", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=at, env=environment, timeout=PATIENCE)


COMMON = ("direct", "--task", "sample", "--train", "6", "--dev", "4", "--run", "run")


@pytest.mark.slow
def test_from_flags_to_a_state_file_and_a_report(tmp_path: Path) -> None:
    done = run(
        *COMMON,
        "--recipe",
        "labeled_few_shot",
        "--demonstrations",
        "2",
        "--out",
        "s.json",
        "--adapter",
        "json",
        at=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "  instructions as they were\n  2 demonstrations:\n    1. context: [1] " in done.stdout
    assert "compiled with 0 LM calls; wrote s.json" in done.stdout
    manifest = json.loads((tmp_path / "s.json").read_text())["manifest"]
    known = ("lm", "api_base", "adapter", "structured", "temperature", "max_tokens", "lm_args", "cache")
    assert [manifest[name] for name in known] == ["extractive/reader", None, "json", "auto", None, None, {}, False]
    assert manifest["recipe_settings"] == {"demonstrations": 2}
    assert (manifest["recipe"], manifest["task"], manifest["metric"], manifest["seed"]) == (
        *("labeled_few_shot", "sample", "em"),
        0,
    )
    assert manifest["parts"]["answer"]["before"].keys() == {"mean", "n", "low", "high"}
    assert "answer\n  part: " in done.stdout


@pytest.mark.slow
def test_talk_goes_to_stderr_without_bars_and_a_state_that_cannot_be_is_refused(tmp_path: Path) -> None:
    done = run(*COMMON, "--recipe", "bootstrap_few_shot", at=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "after: run/after, " in done.stdout
    assert "after - before" in done.stdout
    assert "the extractive reader heeds no demonstrations" in done.stderr
    assert "it/s" not in done.stderr
    assert done.stdout.endswith("LM calls\n")
    refused = run(*COMMON, "--recipe", "knn_few_shot", "--out", "s.json", at=tmp_path)
    assert refused.returncode == 2
    assert "knn_few_shot makes no state file: its program keeps the train questions" in refused.stderr


@pytest.mark.parametrize("recipe", names())
def test_settings_of_programs_and_recipes_have_flags_of_their_own(recipe: str) -> None:
    for program in programs.names():
        parser = make_parser([program, f"--recipe={recipe}"])
        assert without_help(parser) == []
        text = parser.format_help()
        assert f"settings of optimizers.recipes.{recipe}" in text
        assert f"settings of {programs.load(program).__name__}" in text


STATE = {
    "answer": {"traces": [], "train": [], "demos": [3], "lm": None, "signature": {"instructions": "", "fields": []}}
}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("direct --recipe magic", "there is no recipe 'magic'; there are: bootstrap_few_shot"),
        ("nosuch --recipe gepa", "there is no program 'nosuch'; there are: "),
        ("direct --recipe gepa --out s.pkl", "a state file is JSON: its name must end in .json, and s.pkl does not"),
        ("direct --recipe bootstrap_few_shot --out file/s.json", "cannot write the state file file/s.json: "),
        ("direct --recipe bootstrap_few_shot --out a.json", "cannot write the state file a.json: it is a directory"),
        ("direct --recipe gepa --train 9999", "141 different questions are too few for 9999 to train on"),
        ("direct --recipe gepa --train 0", "the train part and the held-out part need at least one question each"),
        ("direct --recipe gepa --train 1", "this recipe needs at least 2 questions to learn from, not 1"),
        ("direct --recipe bootstrap_few_shot --only anwser", "there is no predictor 'anwser'; there are: answer"),
        (
            "direct --recipe bootstrap_few_shot --freeze answer",
            "every predictor is frozen, so there is nothing to learn",
        ),
        ("direct --recipe bootstrap_few_shot --metric nosuch", "there is no metric 'nosuch'; there are: em, "),
        ("direct --recipe gepa --task nosuch", "there is no task 'nosuch'"),
        ("direct --recipe bootstrap_few_shot --budget-calls 0", "the limit of calls must be above 0, not 0"),
        ("direct --recipe bootstrap_few_shot --threads 0", "threads must be at least 1, not 0"),
        ("direct --recipe gepa --evaluations 0", "evaluations must be at least 1, not 0"),
        ("direct --recipe gepa --evaluations many", "argument --evaluations: invalid int value: 'many'"),
        ("direct --recipe copro --breadth 1", "breadth must be at least 2, not 1"),
        ("direct --recipe simba --batch-size 0", "batch-size must be at least 1, not 0"),
        pytest.param(
            *("direct --recipe mipro_v2 --candidates 0", "candidates must be at least 1, not 0"),
            marks=pytest.mark.needs("optuna"),
        ),
        ("direct --recipe combined --candidates 0", "candidates must be at least 1, not 0"),
        ("direct --recipe gepa --state edited.json", "edited.json is a damaged state file: TypeError in 'answer'"),
        ("direct --recipe gepa --state none.json", "cannot read the state file none.json: "),
        ("direct --recipe bootstrap_few_shot --run file", "cannot use the directory file/before: "),
        (
            "direct --recipe gepa",
            "gepa has the LM rewrite instructions, and the extractive reader is no language model",
        ),
        ("direct --recipe combined", "the extractive reader is no language model: choose one with --lm, such as gguf:"),
        ("direct --task sample", "the following arguments are required: --recipe"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_before_anything_is_asked(
    words: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "a.json").mkdir()
    (tmp_path / "edited.json").write_text(json.dumps(STATE))
    asked = words if "--task" in words or "required" in complaint else f"{words} --task sample"
    with pytest.raises(SystemExit) as end:
        main(f"--lm extractive --run run {asked}".split())
    assert end.value.code == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("odqa optimize: error: ")
    assert complaint in error
    assert not list(tmp_path.glob("run/*/rows.jsonl"))


def test_one_directory_is_one_run_and_a_budget_that_ends_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def error(*words: str) -> str:
        with pytest.raises(SystemExit) as end:
            main([*COMMON, "--lm", "extractive", *words])
        assert end.value.code == 2
        return capsys.readouterr().err.splitlines()[-1]

    told = error("--recipe", "bootstrap_few_shot", "--budget-calls", "1")
    assert "the limit of 1 LM calls is reached, and the recipe has not ended" in told
    assert "a higher limit and the directory run" in told
    told = error("--recipe", "labeled_few_shot")
    assert "run/before holds another run, with different recipe" in told


def test_local_copies_of_data_sets_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({"id": str(n), "question": f"Who is {n}?", "answers": ["me"]}) for n in range(8)]
    (tmp_path / "bamboogle.dev.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    command = (
        f"direct --task bamboogle --data {tmp_path} --lm extractive --recipe labeled_few_shot --run {tmp_path / 'r'}"
    )
    with pytest.raises(SystemExit) as end:
        main([*command.split(), "--train", "4"])
    assert end.value.code == 0
    assert "4 questions to learn from, 4 held out" in capsys.readouterr().err


@pytest.mark.parametrize("recipe", names())
def test_a_setting_that_is_too_small_is_refused_in_code_too(recipe: str) -> None:
    for name, least in importlib.import_module(f"optimizers.recipes.{recipe}").LEAST.items():
        settings = {} if name == "train" else {name: least - 1}
        train = [] if name == "train" else [dspy.Example(question="?", answer="!").with_inputs("question")] * 9
        with pytest.raises(UsageError, match=f"at least {least}"):
            load(recipe)(Direct(Memory([])), train, em, **settings)
