"""Plain text: paragraphs, encodings, and files of any length."""

from pathlib import Path

import pytest

from retrieval.corpora.formats import Columns, Document, Unreadable
from retrieval.corpora.formats.text import read_text, text_sections

pytestmark = pytest.mark.needs("semantic_text_splitter")


def document(path: Path, content: bytes) -> Document:
    path.write_bytes(content)
    return Document(path, path.name, Columns())


def test_lines_of_a_paragraph_are_joined(tmp_path: Path) -> None:
    (section,) = text_sections(document(tmp_path / "notes.txt", b"One\r\nline.\r\n \r\n\r\nTwo.\n\nThree"))
    assert section == ("notes", "One line.\nTwo.\nThree", "", "")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_is_read_as_it_says_it_is(tmp_path: Path, encoding: str) -> None:
    made = document(tmp_path / "a.txt", "Ünïcode – 赫尔".encode(encoding))
    assert [section.text for section in text_sections(made)] == ["Ünïcode – 赫尔"]
    assert made.problems == []


def test_what_is_not_utf_8_is_read_as_latin_1_and_told(tmp_path: Path) -> None:
    made = document(tmp_path / "a.txt", b"x" * (1 << 20) + b" caf\xe9 \x93quoted\x94 \x81")
    assert [section.text for section in text_sections(made)][-1] == "café “quoted” \ufffd"
    assert made.problems == ["is not UTF-8, read as Latin-1 (Windows-1252)"]


def test_a_character_may_lie_across_two_reads(tmp_path: Path) -> None:
    made = document(tmp_path / "a.txt", b"x" * ((1 << 20) - 1) + "é".encode())
    assert "".join(section.text for section in text_sections(made))[-1] == "é"
    assert made.problems == []


@pytest.mark.parametrize("parted", ["\n\n", "\n", " ", ""])
def test_long_texts_come_in_pieces_and_whole(tmp_path: Path, parted: str) -> None:
    words = [f"word{n}" for n in range(50_000)]
    sections = list(text_sections(document(tmp_path / "a.txt", parted.join(words).encode())))
    assert max(len(section.text) for section in sections) < 1 << 18
    assert len(sections) > 2
    if parted:
        assert [word for section in sections for word in section.text.split()] == words
    else:
        assert "".join(section.text for section in sections) == "".join(words)


def test_what_has_to_be_read_whole_has_a_longest(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    with path.open("wb") as file:
        file.truncate((1 << 26) + 1)
    with pytest.raises(Unreadable, match="is larger than 64 MB, left out"):
        read_text(Document(path, "a.md", Columns()))
