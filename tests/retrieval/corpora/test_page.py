"""The commands and the code of docs/corpora.md."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from retrieval import Passage
from retrieval.bm25 import BM25
from retrieval.indexes import passage_line

pytestmark = pytest.mark.needs("semantic_text_splitter")


PAGE = (Path(__file__).parents[3] / "docs" / "corpora.md").read_text(encoding="utf-8")


def test_what_the_page_shows_runs(tmp_path: Path) -> None:
    (tmp_path / "notes" / "old").mkdir(parents=True)
    (tmp_path / "notes" / "trees.md").write_text("# Finland\n\n## Trees\n\nThere are birches.\n")
    (tmp_path / "notes" / "old" / "notes.md").write_text("Pines, once.\n")
    (tmp_path / "notes" / "new.md").write_text("Spruces.\n")
    (tmp_path / "more.jsonl").write_bytes(passage_line(Passage("oaks", "There are oaks.")))
    commands = re.findall(r"^    (odqa .*)$", PAGE, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
        if " search " in command:
            assert '"id": "trees.md#1", "title": "Finland > Trees"' in done.stdout
    left = BM25(tmp_path / "my-index")
    assert [left.passage(row).id for row in range(len(left))] == ["new.md#1", "oaks"]


def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "trees.md").write_text("There are birches.\n")
    (tmp_path / "notes" / "x.odt").touch()
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out == "trees.md#1 | trees | There are birches.\nleft out of notes: 1 .odt\n"
