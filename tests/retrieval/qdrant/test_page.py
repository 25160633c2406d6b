"""docs/scale.md: what a newcomer copies and pastes works. What needs a server is not run here."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from support.command_line import exit_code

from retrieval.__main__ import main

ROOT = Path(__file__).parents[3]


@pytest.mark.needs("semantic_text_splitter")
def test_the_commands_for_a_directory_work_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    section = page[page.index("## Qdrant\n") :].partition("A server does the")[0]
    commands = [shlex.split(line) for line in re.findall(r"^    odqa (.*)$", section, re.M)]
    (tmp_path / "docs").mkdir()
    for name in "scale.md", "hipporag.md":  # all of the pages take ten times as long
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    for command in commands:
        assert exit_code(main, command) == 0, command
    assert [command[0] for command in commands] == ["corpus", "index", "search", "delete", "add"]
    printed = capsys.readouterr().out.splitlines()
    assert sum('"text"' in line for line in printed) == 3
    deleted, added = (int(re.findall(rf'"{what}": (\d+)', "\n".join(printed))[-1]) for what in ("deleted", "added"))
    assert deleted == added > 0
