"""How commands show how far they are: on a terminal, and nowhere else."""

from pathlib import Path

import pytest
from support.command_line import exit_code
from support.terminal import Terminal

from retrieval.__main__ import main
from retrieval.bm25 import BM25
from retrieval.corpora import SAMPLE, read


@pytest.fixture
def commands(tmp_path: Path) -> list[tuple[list[str], list[str]]]:
    """Commands, with what each shows a bar of."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    BM25.build(read(SAMPLE), whole)
    return [
        (["shard", f"bm25:{whole}", "--shards", "2", "--out", str(parts), "--overwrite"], ["counting", "splitting"]),
        (["verify", str(parts)], ["verifying"]),
    ]


def test_a_terminal_gets_bars_that_come_to_their_end(
    commands: list[tuple[list[str], list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for command, bars in commands:
        terminal = Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        assert exit_code(main, command) == 0
        for bar in bars:
            assert ": 100%" in terminal.last(bar)
            assert "/s]" in terminal.last(bar)


def test_a_pipe_gets_none(commands: list[tuple[list[str], list[str]]], capsys: pytest.CaptureFixture[str]) -> None:
    for command, _ in commands:
        assert exit_code(main, command) == 0
        assert capsys.readouterr().err == ""
