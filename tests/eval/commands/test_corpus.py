import json
from pathlib import Path

import pytest
from support.command_line import exit_code

from eval.__main__ import main


def test_the_passages_of_a_local_copy_are_added_to_a_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ODQA_DATA", str(tmp_path))
    row = {"id": "1", "paragraphs": [{"title": "T", "paragraph_text": "A text.", "is_supporting": True}]}
    (tmp_path / "musique").mkdir()
    (tmp_path / "musique" / "validation.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "base.jsonl").write_text('{"id": "1", "title": "B", "text": "Another."}\n')
    out = tmp_path / "corpus.jsonl"
    assert exit_code(main, ["corpus", "musique", "--out", str(out), "--add-to", str(tmp_path / "base.jsonl")]) == 0
    assert json.loads(capsys.readouterr().out) == {"passages": 2, "added": 1}
    assert [json.loads(line)["title"] for line in out.read_text().splitlines()] == ["B", "T"]
