"""Making a corpus of a folder."""

import gzip
import json
from pathlib import Path

import pytest
from support.command_line import exit_code
from support.pdf_writer import page_of, pdf

from retrieval.__main__ import main
from retrieval.corpora import read
from retrieval.corpora.folder import Folder

pytestmark = pytest.mark.needs("semantic_text_splitter")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "notes"
    path.mkdir()
    (path / "a.md").write_text("# Finland\n\nThe capital is Helsinki.\n\n## Trees\n\nThere are birches.\n")
    (path / "b.pdf").write_bytes(pdf([page_of("Paris is on the Seine.")]))
    (path / "c.csv").write_text("id,body\n7,Rome is on the Tiber.\n")
    return path


def call(*arguments: object) -> int | str | None:
    return exit_code(main, [str(argument) for argument in arguments])


def test_a_folder_becomes_a_corpus_an_index_and_an_answer(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "corpus.jsonl"
    assert call("corpus", folder, "--out", out) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"corpus": str(out), "files": 3, "passages": 4, "problems": 0}
    assert printed.err == ""
    assert [(p.id, p.title, p.text) for p in read(out)] == [(p.id, p.title, p.text) for p in Folder(folder)]
    assert call("index", "--backend", "bm25", "--corpus", out, "--out", tmp_path / "index") == 0
    capsys.readouterr()
    assert call("search", f"bm25:{tmp_path / 'index'}", "birches", "-k", 1) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["id"], found["title"]) == ("a.md#2", "Finland > Trees")


def test_its_settings_are_the_folders(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "corpus.jsonl.gz"
    flags = "--words", 3, "--overlap", 1, "--text-column", "id", "--title-column", "body", "--id-column", ""
    assert call("corpus", folder, "--out", out, *flags) == 0
    assert gzip.decompress(out.read_bytes())
    settings = {"text_column": "id", "title_column": "body", "id_column": ""}
    assert [p.text for p in read(out)] == [p.text for p in Folder(folder, words=3, overlap=1, **settings)]
    first = out.read_bytes()
    assert call("corpus", folder, "--out", out, *flags, "--overwrite") == 0
    assert out.read_bytes() == first


def test_problems_are_said_and_counted(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "d.pdf").write_bytes(b"%PDF")
    (folder / "e.txt").write_bytes(b"")
    assert call("corpus", folder, "--out", tmp_path / "corpus.jsonl") == 0
    assert json.loads(capsys.readouterr().out)["problems"] == 2


def test_what_cannot_be_made_leaves_no_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "corpus.jsonl"
    (tmp_path / "empty").mkdir()
    assert call("corpus", tmp_path / "empty", "--out", out) == 2
    assert "there is nothing to read in" in capsys.readouterr().err
    (folder / "z.csv").write_text("id,text\n7,Again.\n")
    assert call("corpus", folder, "--out", out) == 2
    assert "two rows have the id '7', c.csv, line 2 and z.csv, line 2" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "notes"]
    out.write_text("mine")
    assert call("corpus", folder, "--out", out) == 2
    assert "exists: choose another file" in capsys.readouterr().err
    assert out.read_text() == "mine"


def test_an_index_says_what_to_do_with_a_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("index", "--backend", "bm25", "--corpus", folder, "--out", tmp_path / "index") == 2
    assert f"odqa corpus {folder} --out corpus.jsonl" in capsys.readouterr().err
