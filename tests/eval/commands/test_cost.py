from pathlib import Path

import pytest
from support.command_line import exit_code

from eval.__main__ import main


def test_what_each_run_costs_by_predictor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [str(tmp_path / name) for name in ("one", "two")]
    for run in runs:
        flags = ["--program", "blendfilter", "--lm", "extractive", "--limit", "3", "--run", run]
        assert exit_code(main, ["sample", *flags]) == 0
    capsys.readouterr()
    assert exit_code(main, ["cost", *runs]) == 0
    first, second = (part.splitlines() for part in capsys.readouterr().out.split("\n\n" + runs[1] + "\n"))
    assert first[0] == runs[0]
    for lines in first[1:], second:
        assert ["per", "question", "of", "3", "7.00"] in [line.split()[:5] for line in lines]
        assert ["select.predict", "3.00"] in [line.split()[:2] for line in lines]
