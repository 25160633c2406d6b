"""`odqa eval TASK --program @FILE.toml`: the run of an answerer is the run that its flags would make."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.answerers import written
from support.command_line import exit_code
from support.faulty_server import Provider

from eval.__main__ import main
from eval.runs.store import read

pytestmark = pytest.mark.leaves_sockets


def told(directory: Path) -> dict[str, Any]:
    """What tells the run from others."""
    return {name: value for name, value in read(directory).manifest.entries().items() if name != "started"}


def test_it_is_the_run_of_its_flags_and_flags_beside_it_come_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Provider(lambda prompt, before: json.dumps({"answer": "Rome"})).running() as provider:
        path = written(tmp_path, provider, lm_settings={"api_base": provider.url, "temperature": 0.25})
        words = ["sample", "--limit", "2"]
        by_file, by_flags, other = tmp_path / "file", tmp_path / "flags", tmp_path / "other"
        assert exit_code(main, [*words, f"--program=@{path}", "--run", str(by_file)]) == 0
        lm = ["--lm", "openai/made-up", "--api-base", provider.url, "--temperature", "0.25"]
        form = ["--adapter", "json", "--structured", "off"]
        flags = ["--program", "direct", "--k", "1", "--retriever", "sample", *lm, *form]
        assert exit_code(main, [*words, *flags, "--run", str(by_flags)]) == 0
        assert told(by_file) == told(by_flags)
        assert exit_code(main, [*words, "--program", f"@{path}", "--k", "3", "--run", str(other)]) == 0
    assert told(other)["settings"]["k"] == 3
    assert "program direct" in capsys.readouterr().out
