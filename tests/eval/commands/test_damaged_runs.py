"""Runs whose files are damaged, in every way and for every subcommand: one line that names file and line, and 2.

A wrong value that changes nothing that is read is no damage: then the commands do their work.
"""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import exit_code

from eval.__main__ import main
from eval.runs.store import glance, making, read
from retrieval import UsageError

FILES = ("manifest.json", "summary.json", "rows.jsonl", "passages.jsonl", "calls.jsonl")
RUN = ["sample", "--program", "blendfilter", "--lm", "extractive", "--limit", "2"]
NOISE = random.Random(0).randbytes(2000)
MISSING = object()
WRONG = (MISSING, "text", 7, 1e308, float("nan"), float("-inf"), 10**400, -1, True, None, [], [["a"]], {}, {"a": {}})
READS = {  # besides what all of them read: manifest, summary and rows
    "view": ["passages.jsonl"],
    "view a question": ["passages.jsonl", "calls.jsonl"],
    "report": ["passages.jsonl", "calls.jsonl"],
    "rescore": ["passages.jsonl", "calls.jsonl"],
    "resume": ["passages.jsonl", "calls.jsonl"],
}


Damage = Callable[[bytes], bytes]

DAMAGE: dict[str, Damage] = {
    "a list": lambda line: b"[]",
    "a number": lambda line: b"7",
    "a text": lambda line: b'"text"',
    "null": lambda line: b"null",
    "NaN": lambda line: b"NaN",
    "no keys": lambda line: b"{}",
    "deep lists": lambda line: b"[" * 100_000 + b"]" * 100_000,
    "deep objects": lambda line: b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a number of many digits": lambda line: b"1" * 5000,
    "noise": lambda line: NOISE,
    "another encoding": lambda line: '{"ä": "ö"}'.encode("latin-1"),
    "half of it": lambda line: line[: len(line) // 2],
    "a zero byte": lambda line: line.replace(b'"', b"\0", 1),
    "nothing": lambda line: b"",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, and a second one like it."""
    folder = tmp_path_factory.mktemp("whole")
    for name in "run", "other":
        assert exit_code(main, [*RUN, "--run", str(folder / name)]) == 0
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    return tmp_path


def uses(folder: Path) -> dict[str, list[str]]:
    """Every subcommand that reads a run, but list."""
    run, other = str(folder / "run"), str(folder / "other")
    first = read(other).rows[0].id
    return {
        "view": ["view", run],
        "view a question": ["view", run, first, "--prompts"],
        "compare": ["compare", run, other],
        "compare the best": ["compare", f"{run},{other}", other],
        "cost": ["cost", run],
        "export": ["export", run, "--out", str(folder / "table.csv")],
        "report": ["report", run, "--out", str(folder / "page.html")],
        "rescore": ["rescore", run, "--out", str(folder / "rescored")],
        "resume": [*RUN, "--run", run],
    }


def first_part(path: Path) -> tuple[bytes, bytes]:
    """The first line of a file of lines, or all of a page; and the rest."""
    content = path.read_bytes()
    if path.suffix == ".json":
        return content, b""
    first, _, rest = content.partition(b"\n")
    return first, b"\n" + rest


@pytest.mark.slow
@pytest.mark.parametrize("how", [*DAMAGE, "a directory", "a pipe"])
@pytest.mark.parametrize("file", FILES)
def test_damage_is_one_line_for_every_subcommand(
    folder: Path, file: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "run" / file
    if how in ("a directory", "a pipe"):
        path.unlink()
        path.mkdir() if how == "a directory" else os.mkfifo(path)
    else:
        first, rest = first_part(path)
        path.write_bytes(DAMAGE[how](first) + rest)
    for use, arguments in uses(folder).items():
        if file not in (*FILES[:3], *READS.get(use, ())):
            continue
        assert exit_code(main, arguments) == 2, use
        output, errors = capsys.readouterr()
        said = errors.splitlines()[-1]
        assert output == ""
        assert "Traceback" not in errors
        if how == "no keys" and file == "manifest.json":
            assert "has the form of another version" in said
        else:
            assert f"run/{file}" in said
            assert how in ("a directory", "a pipe") or path.suffix == ".json" or f"{file}, line 1 is damaged: " in said
    assert exit_code(main, ["list", str(folder)]) == 0  # the other run is there
    if how == "a directory" and file == "manifest.json":
        return  # a folder without a manifest is no run
    listed = capsys.readouterr().out
    looked_at = file in FILES[:2] or (file == "rows.jsonl" and how in ("a directory", "a pipe"))
    assert (file in listed or "another version" in listed) == looked_at


def places(value: Any, depth: int = 3) -> Iterator[list[Any]]:
    """The ways to every part of a value of JSON, of lists to their first item."""
    parts = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, part in parts:
        yield [key]
        if depth:
            yield from ([key, *way] for way in places(part, depth - 1))


def changed(line: bytes, way: list[Any], new: Any) -> bytes:
    value = part = json.loads(line)
    for key in way[:-1]:
        part = part[key]
    if new is MISSING:
        del part[way[-1]]
    else:
        part[way[-1]] = new
    return json.dumps(value).encode()


def complaint(use: Callable[[], object]) -> str:
    try:
        use()
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("file", FILES)
def test_each_wrong_value_is_said_or_changes_nothing_that_is_read(
    folder: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "run" / file
    first, rest = first_part(path)
    run = read(folder / "run")
    reads: dict[str, Callable[[], object]] = {
        "summary.json": lambda: glance(folder / "run"),
        "passages.jsonl": run.passages,
        "calls.jsonl": lambda: list(run.calls()),
    }
    commands = {name: use for name, use in uses(folder).items() if name in ("view", "view a question", "cost")}
    chance = random.Random(0)
    said = taken = 0
    for way in places(json.loads(first)):
        for new in chance.sample(WRONG, 4):
            path.write_bytes(changed(first, way, new) + rest)
            if line := complaint(reads.get(file, lambda: read(folder / "run"))):
                assert "\n" not in line
                assert file in line or "of another version" in line, (way, new)
                said += 1
                continue
            taken += 1
            for name, arguments in commands.items() if taken % 20 == 0 else ():
                assert exit_code(main, arguments) in (0, 2), (name, way, new)
                assert "Traceback" not in capsys.readouterr().err
    assert said > 5


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"em": "good"}, "scores.em: "),
        ({"em": 7}, "scores.em: "),
        ({"em": 1e308}, "scores.em: "),
        ([1.0], "scores: "),
    ],
)
def test_a_score_is_a_number_from_0_to_1(folder: Path, scores: Any, said: str) -> None:
    path = folder / "run" / "rows.jsonl"
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in [rows[0], {**rows[1], "scores": scores}]))
    with pytest.raises(UsageError, match=f"rows.jsonl, line 2 is damaged: {said}"):
        read(folder / "run")


def test_a_byte_order_mark_and_repeated_lines_are_no_damage(folder: Path) -> None:
    before = read(folder / "run")
    for file in FILES:
        first, rest = first_part(folder / "run" / file)
        again = b"" if file.endswith(".json") else b"\n" + first
        (folder / "run" / file).write_bytes(b"\xef\xbb\xbf" + first + again + rest)
    run = read(folder / "run")
    assert (run.manifest, run.rows, run.passages()) == (before.manifest, before.rows, before.passages())


def test_damaged_lines_are_left_out_on_request_and_said(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    lost, kept = (json.loads(line)["id"] for line in (folder / "run" / "rows.jsonl").read_bytes().splitlines())
    for file in FILES[2:]:
        _, rest = first_part(folder / "run" / file)
        (folder / "run" / file).write_bytes(b"{}" + rest)
    commands = uses(folder)
    for use in "view", "compare", "compare the best", "cost", "export", "report":
        assert exit_code(main, [*commands[use], "--skip-damaged"]) == 0, use
        said = caplog.text
        caplog.clear()
        assert "1 damaged line is left out: the figures are of the other 1 of 2 questions; the first: " in said
        assert "rows.jsonl, line 1" in said
        assert ("passages.jsonl, line 1" in said) == ("passages.jsonl" in READS.get(use, ()))
    assert lost not in (folder / "table.csv").read_text()
    assert kept in (folder / "table.csv").read_text()
    run = read(folder / "run", skip_damaged=True)
    assert run.gap == "damaged lines of rows.jsonl are left out (1)"
    assert exit_code(main, [*commands["rescore"], "--skip-damaged"]) == 2  # what it writes would look whole


def test_a_second_process_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {file.name: file.read_bytes() for file in (folder / "run").iterdir()}
    commands = uses(folder)
    with making(folder / "run"), making(folder / "rescored"):
        for use in "resume", "rescore":
            assert exit_code(main, commands[use]) == 2
            assert "is in use: another process writes to it" in capsys.readouterr().err.splitlines()[-1]
        assert exit_code(main, commands["view"]) == 0  # whoever only reads is in nobody's way
    assert {file.name: file.read_bytes() for file in (folder / "run").iterdir()} == before
    assert exit_code(main, commands["resume"]) == 0
