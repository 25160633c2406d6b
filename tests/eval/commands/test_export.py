import json
from pathlib import Path

import pytest
from pyarrow import parquet
from support.command_line import exit_code

from eval.__main__ import main


def test_the_rows_of_runs_become_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory, out = str(tmp_path / "run"), tmp_path / "rows.parquet"
    flags = ["--program", "cot", "--lm", "extractive", "--limit", "3", "--run", directory]
    assert exit_code(main, ["sample", *flags]) == 0
    capsys.readouterr()
    assert exit_code(main, ["export", directory, directory, "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": 6}
    (first, *_) = parquet.read_table(out).to_pylist()
    about = {"run": directory, "program": "cot", "lm": "extractive/reader", "task": "sample", "retriever": "sample"}
    assert about.items() <= first.items()
    assert first["lm_calls"] == len(first["queries"]) == 1
    for arguments, complaint in [
        ([directory, "--out", "rows.json"], "must end in .csv or .parquet, and rows.json does not"),
        ([directory], "required: --out"),
    ]:
        assert exit_code(main, ["export", *arguments]) == 2
        assert complaint in capsys.readouterr().err
