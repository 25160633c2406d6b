"""The commands of docs/README.md, one after the other."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_commands_run_and_print_what_stands_below_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODQA_LM", "extractive")
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    commands = "".join(blocks).splitlines()
    assert commands[1] == ". .venv/bin/activate"
    # It would install: that its target is there is enough, and that what it runs is a command of ours.
    make = subprocess.run(
        [*shlex.split(commands[0]), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "odqa ask blendfilter" in make.stdout
    printed = {}
    for command in commands[2:]:
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
        printed[command] = done.stdout
    assert printed[commands[2]] == "Oreste Baratieri\n"
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (compared,) = [text for command, text in printed.items() if " compare " in command]
    for part in shown.split("…\n"):
        assert part in compared
    assert (tmp_path / "compared.html").exists()
