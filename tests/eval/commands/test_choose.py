"""`odqa choose`, from questions to an answerer."""

import re
from pathlib import Path

import pytest
from support.command_line import exit_code

from eval.__main__ import main
from eval.choosing.record import read_race
from programs.instruments.answerer import read_answerer

COMMON = ["choose", "sample", "--limit", "12", "--lm", "extractive", "--methods", "direct,cot", "--block", "5"]


def test_a_race_is_planned_run_and_written_as_an_answerer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    race, out = tmp_path / "race", tmp_path / "best.toml"
    words = [*COMMON, "--set", "cot.k=3,5", "--race", str(race), "--out", str(out), "--paid", str(tmp_path)]
    assert exit_code(main, [*words, "--plan"]) == 0
    plan = capsys.readouterr().out
    assert re.search(r"cot-k-3 +12 +12 +12 ", plan)
    assert "3 runs" in plan
    assert not race.exists()
    assert exit_code(main, [*words, "--max-calls", "40"]) == 0
    said, told = capsys.readouterr()
    assert "the full grid, of which a race takes a part:" in told
    assert "2 of 9 questions, 3 candidates" in told
    assert "measuring on what was kept aside" in told
    found = read_race(race)
    assert (found.state, found.answerer, found.prices) == ("finished", str(out), ("tokens",))
    assert found.recommended is not None
    assert found.recommended.said.split(".")[0] in said
    answerer = read_answerer(out)
    assert (answerer.program, answerer.lm) == (found.candidate(found.recommended.candidate).program, "extractive")
    assert answerer.chosen is not None
    assert answerer.chosen.aside is not None
    assert answerer.chosen.aside.questions == 3
    assert exit_code(main, [*words, "--value", "10"]) == 0  # goes on with what there is
    assert read_race(race).calls == found.calls


def test_a_candidate_with_demonstrations_becomes_an_answerer_with_a_state(tmp_path: Path) -> None:
    file = tmp_path / "more.toml"
    file.write_text('programs = ["cot", { program = "direct", demonstrations = 2 }]')
    out = tmp_path / "best.toml"
    words = ["choose", "sample", "--limit", "8", "--lm", "extractive", "--candidates", str(file), "--within", "100000"]
    assert exit_code(main, [*words, "--race", str(tmp_path / "race"), "--out", str(out)]) == 0
    answerer = read_answerer(out)
    assert (answerer.state is not None) == (answerer.program == "direct")


def test_a_limit_that_is_reached_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*COMMON, "--race", str(tmp_path / "race"), "--max-calls", "3", "--paid", str(tmp_path)]
    assert exit_code(main, words) == 0
    said, told = capsys.readouterr()
    assert f"to continue, repeat the command with --race {tmp_path / 'race'} and another limit" in told
    assert "stopped" in said
    assert read_race(tmp_path / "race").answerer is None


def test_a_goal_that_the_questions_have_no_gold_for_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.csv").write_text("question,answer\n" + "".join(f"who is {n}?,{n}\n" for n in range(4)))
    words = ["choose", str(tmp_path / "mine.csv"), "--lm", "extractive", "--methods", "direct, cot"]
    assert exit_code(main, [*words, "--goal", "recall_passages", "--race", str(tmp_path / "race")]) == 2
    assert "no question has what recall_passages is computed from" in capsys.readouterr().err


def test_an_answerer_that_cannot_be_written_costs_no_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    race = str(tmp_path / "race")
    assert exit_code(main, [*COMMON, "--race", race, "--out", str(tmp_path / "file" / "best.toml")]) == 2
    said, told = capsys.readouterr()
    assert "kept aside" in said
    assert f"repeat the command with --race {race} and another --out: nothing is asked twice" in told
    assert told.count("measuring on what was kept aside") == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--value", "1", "--within", "1"], "a recommendation is made by --value or by --within, not by both"),
        (["--price", "usd"], "extractive/reader has no known price: take tokens, calls, depth or seconds"),
        (["--price", "none", "--within", "1"], "--value and --within are in the first --price, and there is none"),
        (["--price", "seconds", "--cache"], "--price seconds cannot be told with --cache"),
        (["--value", "nan"], "a price is a number from 0 on, not 'nan'"),
        (["--within", "-1"], "a price is a number from 0 on, not '-1'"),
        (["--price", "fun"], "it is one or two of usd, tokens, calls, depth, seconds, or none, not 'fun'"),
        (["--set", "cot=3"], "it is given as METHOD.NAME=VALUE,…, not 'cot=3'"),
        (["--set", "nosuch.k=3"], "there is no program 'nosuch'"),
        (["--out", "best.json"], "an answerer is TOML: its name must end in .toml"),
        (["--aside", "1"], "--aside is a share of the questions from 0 to below 1, not 1"),
        (["--block", "0"], "--block must be at least 1, not 0"),
        (["--compile", "nosuch"], "there is no recipe 'nosuch'"),
    ],
)
def test_mistakes_are_one_line(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(main, [*COMMON, *words]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.splitlines()[-1].startswith("odqa choose: error: ")
