"""Word documents (.docx): a section per heading."""

import re
from collections.abc import Iterator
from zipfile import ZipFile

from odqa.extras import needing
from retrieval.corpora.formats.markup import sections_of
from retrieval.corpora.formats.section import Document, Section, Unreadable

with needing("corpora"):
    import docx
    from docx.document import Document as WordDocument
    from docx.table import Table

__all__ = ["word_sections"]

_LARGEST = 1 << 28  # bytes that a document unpacks to


def word_sections(document: Document) -> Iterator[Section]:
    """A section per heading. A row of a table is a paragraph, with its cells parted by spaces.

    The title is that of the document's properties, else the file's name. Notes, headers and footers are left out.
    """
    try:
        with ZipFile(document.path) as parts:
            if sum(part.file_size for part in parts.infolist()) > _LARGEST:
                raise Unreadable(f"unpacks to more than {_LARGEST >> 20} MB, left out")
            described = "docProps/core.xml" in parts.namelist()  # else python-docx makes up a title
        word = docx.Document(str(document.path))
        title = " ".join(((described and word.core_properties.title) or "").split())
        paragraphs = list(_paragraphs(word))
    except (Unreadable, OSError):
        raise
    except Exception as error:  # of any kind: a damaged file leads python-docx anywhere
        raise Unreadable(f"is a damaged Word document, left out: {' '.join(str(error).split())[:200]}") from error
    yield from sections_of(paragraphs, title or document.path.stem)


def _paragraphs(word: WordDocument) -> Iterator[tuple[str, str]]:
    for block in word.iter_inner_content():
        if isinstance(block, Table):
            lines = [("tr", " ".join(cell.text for cell in row.cells)) for row in block.rows]
        else:
            level = re.fullmatch(r"(?:Heading (\d)|(Title))", block.style.name if block.style else "")
            lines = [(f"h{level[1] or 1}" if level else "p", block.text)]
        yield from ((what, text) for what, line in lines if (text := " ".join(line.split())))
