"""What all subcommands of `odqa eval` share: --help, and one line for a mistake."""

from pathlib import Path

import pytest
from support.command_line import exit_code, without_help

from eval import commands
from eval.__main__ import main, make_parser
from programs import names

COMMANDS = sorted(path.stem for path in Path(commands.__path__[0]).glob("[!_]*.py") if path.stem != "options")


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, ["--help"]) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("    ")}
    assert listed.issuperset(COMMANDS)


def test_help_says_something_about_every_flag() -> None:
    assert without_help(make_parser([])) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, [command, "--help"]) == 0
    usage = {"run": "odqa eval", "choose": "odqa choose"}.get(command, f"odqa eval {command}")
    assert capsys.readouterr().out.startswith(f"usage: {usage} [-h]")


@pytest.mark.parametrize("name", names())
def test_help_about_a_program_lists_its_settings(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert without_help(make_parser(["--program", name])) == []
    for arguments in (["sample", "--program", name], [f"--program={name}"], ["run", "--program", name]):
        assert exit_code(main, [*arguments, "--help"]) == 0
        text = capsys.readouterr().out
        assert "settings of " in text
        assert "--threads N" in text
    assert ("--hops INT" in text) == (name in ("blendfilter", "hop"))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["compare"], "odqa eval compare: error: the following arguments are required: RUN"),
        (["compare", "--runs"], "odqa eval compare: error: the following arguments are required: RUN"),
        (["cost", "nowhere", "--tokens"], "odqa eval: error: unrecognized arguments: --tokens"),
        (["cost", "nowhere"], "odqa eval: error: nowhere holds no run"),
        (["report", "nowhere", "--out", "page.txt"], "odqa eval: error: a report is an HTML file: its name must"),
        (["export", "nowhere", "--out", "rows.csv"], "odqa eval: error: nowhere holds no run"),
        (["paper", "blendfilter:table99"], "odqa eval: error: there is no table 'blendfilter:table99'"),
        (
            ["compare", "nowhere,"],
            "odqa eval: error: a run is named by its directory, and 'nowhere,' has",
        ),
        (["corpus", "sample", "--out", "o.jsonl"], "odqa eval: error: there is no task 'sample': use "),
        (["corpus", "nq", "--out", "o.txt"], "odqa eval: error: a corpus is JSON lines: its name must end in"),
        (
            ["corpus", "nq", "--data", "no", "--out", "o"],
            "odqa eval corpus: error: argument --data: there is no",
        ),
        (["set", "nowhere.toml"], "odqa eval: error: cannot read nowhere.toml: No such file or directory"),
        (
            ["retrieval", "--retriever", "x"],
            "odqa eval retrieval: error: the following arguments are required: --qu",
        ),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exit_code(main, arguments) == 2
    output, errors = capsys.readouterr()
    assert (output, errors.count("\n")) == ("", 1)
    assert errors.startswith(complaint)
    assert list(tmp_path.iterdir()) == []
