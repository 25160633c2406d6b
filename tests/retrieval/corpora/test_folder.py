"""Corpora of folders: what is read and what is left out, ids, sizes."""

import inspect
import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from retrieval import UsageError
from retrieval.bm25 import BM25
from retrieval.corpora.folder import Folder

pytestmark = pytest.mark.needs("semantic_text_splitter")

SENTENCES = [f"Sentence number {n} has exactly seven words." for n in range(100)]


def write(root: Path, **files: str | bytes) -> Path:
    """Files by name; a double underscore in a name is a dot, three of them are a slash."""
    for name, content in files.items():
        path = root / name.replace("___", "/").replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def test_a_folder_gives_the_passages_of_all_its_documents_in_order(tmp_path: Path) -> None:
    write(tmp_path, b__txt="Text.", a___c__MD="# Head\n\nMarkdown.", a___b__html="<p>HTML.", c__csv="text\nCSV.\n")
    folder = Folder(tmp_path)
    passages = list(folder)
    assert [(p.id, p.title, p.text) for p in passages] == [
        ("b.txt#1", "b", "Text."),
        ("c.csv#2", "c", "CSV."),
        ("a/b.html#1", "b", "HTML."),
        ("a/c.MD#1", "Head", "Markdown."),
    ]
    assert (folder.files, folder.problems) == (4, [])
    assert [p.id for p in folder] == [p.id for p in passages]  # again, as when a build is taken up
    assert len(BM25.build(folder, tmp_path / "index")) == 4


def test_a_single_document_is_a_corpus(tmp_path: Path) -> None:
    write(tmp_path, a___b__txt="Text.")
    assert [p.id for p in Folder(tmp_path / "a" / "b.txt")] == ["b.txt#1"]


def test_passages_end_where_sentences_end_and_have_no_more_words_than_asked(tmp_path: Path) -> None:
    write(tmp_path, a__txt=" ".join(SENTENCES))
    passages = list(Folder(tmp_path, words=30))
    assert [p.id for p in passages] == [f"a.txt#{n}" for n in range(1, 26)]
    assert all(p.text == " ".join(SENTENCES[4 * n : 4 * n + 4]) for n, p in enumerate(passages))
    overlapping = list(Folder(tmp_path, words=30, overlap=10))
    assert overlapping[0].text == " ".join(SENTENCES[:4])
    assert overlapping[1].text == " ".join(SENTENCES[3:7])
    assert max(len(p.text.split()) for p in Folder(tmp_path)) == 98


def test_a_character_counts_as_a_word_where_words_are_not_parted_by_spaces(tmp_path: Path) -> None:
    write(tmp_path, a__txt="赫尔辛基是芬兰的首都。" * 30, b__txt="x" * 3000)
    lengths = [len(p.text) for p in Folder(tmp_path) if p.id.startswith("a")]
    assert sum(lengths) == 330
    assert 80 < max(lengths) <= 110
    assert max(len(p.text) for p in Folder(tmp_path)) < 12 * 101


def test_letters_that_nothing_parts_are_cut_all_the_same_and_none_is_lost(tmp_path: Path) -> None:
    run = "".join(chr(0x4E00 + n % 20_000) for n in range(60_000))
    texts = [passage.text for passage in Folder(write(tmp_path, t__txt=f"Before it. {run} after it."))]
    assert max(map(len, texts)) <= 110
    assert "".join("".join(texts).split()) == f"Beforeit.{run}afterit."


def test_ids_are_one_word_and_different(tmp_path: Path) -> None:
    for name in ("a b.txt", "a%20b.txt", "a#b.txt", "Größe.txt", "line\nbreak.txt"):
        (tmp_path / name).write_text("Text.")
    (tmp_path / os.fsdecode(b"b\xff.txt")).write_text("Text.")
    found = sorted(p.id for p in Folder(tmp_path))
    assert found == sorted(
        ["Größe.txt#1", "a%20b.txt#1", "a%23b.txt#1", "a%2520b.txt#1", "b%FF.txt#1", "line%0Abreak.txt#1"]
    )


def test_what_is_left_out_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outside = write(tmp_path / "outside", secret__txt="Secret.")
    root = write(
        tmp_path / "root", a__txt="Text.", empty__md=" \n", binary__txt=b"a\0b", latin__txt="café".encode("cp1252")
    )
    write(root, x__odt="x", y__odt="y", Makefile="z", __hidden__txt="h", __git___a__txt="h")
    (root / "link.txt").symlink_to(outside / "secret.txt")
    (root / "links").symlink_to(outside)
    os.mkfifo(root / "pipe.txt")
    folder = Folder(root)
    assert [p.text for p in folder] == ["Text.", "café"]
    assert folder.files == 2
    assert folder.problems == [
        "binary.txt: is no text, left out",
        "empty.md: has no text",
        "latin.txt: is not UTF-8, read as Latin-1 (Windows-1252)",
        f"left out of {root}: 2 .odt, 1 .txt, 2 hidden, 2 symbolic links, 1 without an ending",
    ]
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == folder.problems


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_told(tmp_path: Path) -> None:
    write(tmp_path, a__txt="Text.", b__txt="No.", c___d__txt="No.")
    (tmp_path / "b.txt").chmod(0)
    (tmp_path / "c").chmod(0)
    folder = Folder(tmp_path)
    assert [p.text for p in folder] == ["Text."]
    (tmp_path / "c").chmod(0o700)
    assert len(folder.problems) == 2
    assert all("cannot be read, left out: Permission denied" in problem for problem in folder.problems)


def test_two_rows_with_one_id_are_named(tmp_path: Path) -> None:
    write(tmp_path, a__csv="id,text\n1,One.\n2,Two.\n", b__csv='id,text\n3,"Three\nlines\nlong."\n1,Again.\n')
    with pytest.raises(UsageError, match=r"two rows have the id '1', a\.csv, line 2 and b\.csv, line 5: .*--id-column"):
        list(Folder(tmp_path))
    assert [p.id for p in Folder(tmp_path, id_column="")] == ["a.csv#2", "a.csv#3", "b.csv#2", "b.csv#5"]


def test_a_row_that_is_cut_keeps_its_id(tmp_path: Path) -> None:
    write(tmp_path, a__csv=f"id,text\n7,{' '.join(SENTENCES[:10])}\n")
    assert [p.id for p in Folder(tmp_path, words=30)] == ["7", "7.2", "7.3"]


def test_the_parts_of_a_row_have_ids_that_no_other_row_has(tmp_path: Path) -> None:
    write(tmp_path, a__csv=f"id,text\n7,{' '.join(SENTENCES[:10])}\n7.2,Two.\n")
    with pytest.raises(UsageError, match=r"two rows have the id '7\.2', a\.csv, line 2 and a\.csv, line 3"):
        list(Folder(tmp_path, words=30))


def test_folders_may_be_nested_deeper_than_python_recurses(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"d" * 300)
    deep.mkdir(parents=True)
    (deep / "a.txt").write_text("Text.")
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 200)
    try:
        assert [p.id for p in Folder(tmp_path)] == ["d/" * 300 + "a.txt#1"]
    finally:
        sys.setrecursionlimit(before)


def test_a_name_cannot_write_to_the_terminal(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a\n\x1b[31m.csv").write_text("\x1b]0;x\x07,b\n1,2\n")
    assert [p.title for p in Folder(tmp_path)] == ["a \x1b[31m"]
    assert list(Folder(tmp_path, id_column="none")) == []
    assert [record.getMessage().isprintable() for record in caplog.records] == [True]


def test_what_cannot_be_a_corpus_is_refused(tmp_path: Path) -> None:
    write(tmp_path, x__odt="x")
    for path, message in (tmp_path / "none", "there is no folder"), (tmp_path / "x.odt", "is no document: .*.pdf"):
        with pytest.raises(UsageError, match=message):
            Folder(path)
    for settings in {"words": 0}, {"words": 10, "overlap": 10}, {"overlap": -1}:
        with pytest.raises(UsageError, match="at least 1 word"):
            Folder(tmp_path, **settings)


@pytest.mark.parametrize(
    "text", ["word " * 40_000, "some words here, " * 12_000, "河流" * 100_000, "One. " + "a b " * 50_000]
)
def test_the_splitter_is_given_no_long_text_at_once(tmp_path: Path, text: str) -> None:
    """Its time grows with the square of a text without sentences."""
    write(tmp_path, a__html=f"<p>{text}</p>")
    folder = Folder(tmp_path)
    given = Spy(folder._splitter)
    folder._splitter = given
    passages = list(folder)
    assert max(given.sizes) <= 1 << 13
    assert "".join("".join(p.text.split()) for p in passages) == "".join(text.split())


class Spy:
    def __init__(self, splitter: Any) -> None:
        self.splitter, self.sizes = splitter, list[int]()

    def chunks(self, text: str) -> list[str]:
        self.sizes.append(len(text))
        return self.splitter.chunks(text)
