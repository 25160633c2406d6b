"""Word documents: headings, tables, and files that are damaged."""

from pathlib import Path

import docx
import pytest

from retrieval.corpora.folder import Folder
from retrieval.corpora.formats import Columns, Document, Unreadable
from retrieval.corpora.formats.word import word_sections

pytestmark = pytest.mark.needs("docx")


def test_a_section_per_heading_with_the_rows_of_tables(tmp_path: Path) -> None:
    made = docx.Document()
    made.core_properties.title = "Bridges"
    made.add_paragraph("Before  all.")
    made.add_heading("Arches", 1)
    made.add_paragraph("An arch is curved.")
    made.add_heading("Steel", 2)
    table = made.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Gateway Arch", "192 metres"
    made.save(str(tmp_path / "bridges.docx"))
    folder = Folder(tmp_path)
    assert [(p.id, p.title, p.text) for p in folder] == [
        ("bridges.docx#1", "Bridges", "Before all."),
        ("bridges.docx#2", "Arches", "An arch is curved."),
        ("bridges.docx#3", "Arches > Steel", "Gateway Arch 192 metres"),
    ]


def test_a_document_without_properties_goes_by_its_file(tmp_path: Path) -> None:
    made = docx.Document()
    made.add_paragraph("An arch is curved.")
    parts = made.part.package.rels
    del parts[next(name for name, part in parts.items() if part.reltype.endswith("/core-properties"))]
    made.save(str(tmp_path / "arches.docx"))
    (section,) = word_sections(Document(tmp_path / "arches.docx", "arches.docx", Columns()))
    assert section.title == "arches"


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive", b"PK\x05\x06" + bytes(18)])
def test_a_damaged_document_is_told(tmp_path: Path, content: bytes) -> None:
    (path := tmp_path / "a.docx").write_bytes(content)
    with pytest.raises(Unreadable, match="is a damaged Word document, left out: "):
        list(word_sections(Document(path, path.name, Columns())))
