from pathlib import Path

import pytest
from support.command_line import exit_code

from eval.__main__ import main
from eval.reports.html.page import page
from eval.runs.store import read


def test_the_report_is_written_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory, other, out = (str(tmp_path / name) for name in ("run", "other", "report.html"))
    for run in (directory, other):
        flags = ["--program", "cot", "--lm", "extractive", "--limit", "2", "--run", run]
        assert exit_code(main, ["sample", *flags]) == 0
    Path(out).write_text("an older one")
    capsys.readouterr()
    assert exit_code(main, ["report", directory, "--out", out]) == 0
    assert capsys.readouterr().err == f"report: {out}\n"
    assert Path(out).read_text(encoding="utf-8") == page([read(directory)]).html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "report.html", "run"]
    assert exit_code(main, ["report", f"{directory},{other}", "--out", out]) == 0
    assert "best of 2" in Path(out).read_text(encoding="utf-8")
    capsys.readouterr()
    for arguments, complaint in [
        ([str(tmp_path), "--out", out], f"{tmp_path} holds no run: there is no "),
        ([directory, "--out", str(tmp_path / "none" / "a.html")], "a.html: No such file or directory"),
        ([directory, "--out", f"{directory}/rows.jsonl"], "its name must end in .html"),
        ([directory, directory, "--out", out], "one of the runs is named twice"),
        ([directory], "the following arguments are required: --out"),
    ]:
        assert exit_code(main, ["report", *arguments]) == 2
        errors = capsys.readouterr().err
        assert errors.count("\n") == 1
        assert complaint in errors
