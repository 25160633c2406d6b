"""The kinds of documents: each file here turns a document of one kind into sections."""

from collections.abc import Callable, Iterator

from retrieval.corpora.formats.markup import html_sections, markdown_sections
from retrieval.corpora.formats.pdf import pdf_sections
from retrieval.corpora.formats.section import Columns, Document, Section, Unreadable
from retrieval.corpora.formats.table import table_sections
from retrieval.corpora.formats.text import text_sections
from retrieval.corpora.formats.word import word_sections

__all__ = ["READERS", "Columns", "Document", "Section", "Unreadable"]

READERS: dict[str, Callable[[Document], Iterator[Section]]] = {
    ".txt": text_sections,
    ".text": text_sections,
    ".md": markdown_sections,
    ".markdown": markdown_sections,
    ".html": html_sections,
    ".htm": html_sections,
    ".xhtml": html_sections,
    ".csv": table_sections,
    ".tsv": table_sections,
    ".pdf": pdf_sections,
    ".docx": word_sections,
}
"""What reads a document, by the ending of its name in lower case."""
