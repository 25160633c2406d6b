"""Adding passages to an index and deleting them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.command_line import exit_code

from retrieval import Passage
from retrieval.__main__ import main
from retrieval.bm25 import BM25
from retrieval.indexes import passage_line

PASSAGES = [Passage(f"doc{n % 3}.md#{n}", f"word{n} of the document") for n in range(9)]


def call(*arguments: object) -> int | str | None:
    return exit_code(main, [str(argument) for argument in arguments])


def written(path: Path, passages: Sequence[Passage]) -> Path:
    path.write_bytes(b"".join(map(passage_line, passages)))
    return path


@pytest.fixture
def index(tmp_path: Path) -> Path:
    BM25.build(PASSAGES, tmp_path / "index")
    return tmp_path / "index"


def ids(index: Path) -> list[str]:
    opened = BM25(index)
    return [opened.passage(row).id for row in range(len(opened))]


def test_passages_are_added(index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = written(tmp_path / "more.jsonl", [Passage("new", "something new")])
    assert call("add", index, "--corpus", more) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["passages"], done["added"]) == (10, 1)
    assert ids(index) == [*(p.id for p in PASSAGES), "new"]
    assert call("add", index, "--corpus", more) == 2
    assert f"{more}, line 1: the index has a passage with the id 'new' already" in capsys.readouterr().err


def test_passages_are_deleted_by_id_from_a_list_and_by_document(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ids").write_text("doc0.md#3\n\ndoc0.md#6\n")
    assert call("delete", index, "--ids", "doc0.md#0", "--ids-from", tmp_path / "ids", "--document", "doc1.md") == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["passages"], done["deleted"]) == (3, 6)
    assert ids(index) == [p.id for p in PASSAGES if p.id.startswith("doc2")]


def test_an_index_behind_a_link_or_in_the_current_folder_is_changed(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(index)
    assert call("delete", link, "--document", "doc0.md") == 0
    assert call("delete", link, "--document", "doc1.md") == 0
    assert link.is_symlink()
    monkeypatch.chdir(index)
    assert call("add", ".", "--corpus", written(tmp_path / "more.jsonl", PASSAGES[:1])) == 0
    assert ids(index) == ["doc2.md#2", "doc2.md#5", "doc2.md#8", "doc0.md#0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "link", "more.jsonl"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "say which passages: --ids, --ids-from or --document"),
        (["--ids", "doc0.md#0", "none"], "the index has no passage with the id 'none': nothing was deleted"),
        (["--document", "doc"], "no passage of a document 'doc'"),
        (["--ids", *(p.id for p in PASSAGES)], "there is nothing to index"),
    ],
)
def test_what_cannot_be_deleted_is_said(
    flags: list[str], message: str, index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("delete", index, *flags) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert len(ids(index)) == 9
    assert call("delete", index / "none", *(flags or ["--ids", "x"])) == 2
    assert "there is no index in" in capsys.readouterr().err
