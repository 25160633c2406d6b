"""PDF: pages, titles, and files that are damaged or are meant to do harm."""

from pathlib import Path

import pytest
from pypdf import PdfReader, PdfWriter
from support.pdf_writer import page_of, pdf

from retrieval.corpora.formats import Columns, Document, Unreadable
from retrieval.corpora.formats.pdf import pdf_sections

pytestmark = pytest.mark.needs("semantic_text_splitter")


def read(path: Path) -> tuple[list[tuple[str, str]], list[str]]:
    document = Document(path, path.name, Columns())
    return [section[:2] for section in pdf_sections(document)], document.problems


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.pdf"


def test_each_page_is_a_section(path: Path) -> None:
    path.write_bytes(pdf([page_of("Helsinki is the capi-", "tal of Finland."), page_of("Second page.")]))
    assert read(path) == (
        [("report, page 1", "Helsinki is the capital of Finland."), ("report, page 2", "Second page.")],
        [],
    )
    path.write_bytes(pdf([page_of("Text.")], title="The Title"))
    assert read(path) == ([("The Title, page 1", "Text.")], [])


def test_pages_without_text_are_told(path: Path) -> None:
    path.write_bytes(pdf([page_of("Text."), b"", b"0 0 m 10 10 l S"]))
    found, problems = read(path)
    assert found == [("report, page 1", "Text.")]
    assert problems == ["2 of 3 pages have no text; if they are scans, recognize their text first (OCR)"]


def test_a_page_that_unpacks_to_too_much_is_left_out_alone(path: Path) -> None:
    path.write_bytes(pdf([page_of("Text."), b" " * 80_000_000, page_of("More.")]))
    assert path.stat().st_size < 100_000
    found, problems = read(path)
    assert [text for _, text in found] == ["Text.", "More."]
    assert [problem.partition(":")[0] for problem in problems] == ["page 2 cannot be read, left out"]


def test_a_page_with_more_than_one_can_read_is_left_out(path: Path) -> None:
    path.write_bytes(pdf([page_of("Text."), page_of("words " * 200_000)]))
    assert read(path) == ([("report, page 1", "Text.")], ["page 2 has 1,199,999 characters, left out"])


@pytest.mark.parametrize("content", [b"", b"no PDF", b"%PDF-1.7\n", pdf([page_of("Text.")])[:400]])
def test_a_damaged_file_is_said_to_be(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(Unreadable, match="is a damaged PDF, left out: "):
        read(path)


def test_a_file_with_a_password_is_said_to_have_one(path: Path) -> None:
    path.write_bytes(pdf([page_of("Text.")]))
    writer = PdfWriter(clone_from=PdfReader(path))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(path)
    with pytest.raises(Unreadable, match="needs a password, left out"):
        read(path)
