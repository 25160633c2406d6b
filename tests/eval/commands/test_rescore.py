from pathlib import Path

import pytest
from support.command_line import exit_code

from eval.__main__ import main
from eval.runs.store import read


def test_a_run_is_rescored_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "run")
    assert exit_code(main, ["sample", "--program", "cot", "--lm", "extractive", "--limit", "2", "--run", run]) == 0
    capsys.readouterr()
    assert exit_code(main, ["rescore", run, "--metrics", "em,rouge_l"]) == 0
    output, errors = capsys.readouterr()
    assert f"run: {run}-rescored\n" in errors
    assert output.endswith("em: 0 of 2 scores changed\nrouge_l: new\n")
    assert read(f"{run}-rescored").manifest.metrics == ("em", "rouge_l")
    assert exit_code(main, ["rescore", run, "--metrics", "em", "--out", run]) == 2
    assert "holds another run" in capsys.readouterr().err
    assert exit_code(main, ["rescore", run, "--metrics", "nonsense"]) == 2
    assert "there is no metric 'nonsense'" in capsys.readouterr().err


def test_a_rescored_run_whose_source_lost_a_row_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert exit_code(main, ["sample", "--program", "cot", "--lm", "extractive", "--limit", "3", "--run", str(run)]) == 0
    assert exit_code(main, ["rescore", str(run), "--metrics", "em"]) == 0
    lines = (run / "rows.jsonl").read_text().splitlines(keepends=True)
    (run / "rows.jsonl").write_text("".join(lines[:-1]))
    capsys.readouterr()
    assert exit_code(main, ["rescore", str(run), "--metrics", "em"]) == 0
    assert f"questions that {run} has no more: 1\nem: 0 of 2 scores changed\n" in capsys.readouterr().out
