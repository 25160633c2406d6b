"""PDF: a section per page."""

import re
from collections.abc import Iterator

from odqa.extras import needing
from retrieval.corpora.formats.section import Document, Section, Unreadable

with needing("corpora"):
    from pypdf import PdfReader

__all__ = ["pdf_sections"]

_LONGEST = 1_000_000  # characters of a page: more is no page for reading


def pdf_sections(document: Document) -> Iterator[Section]:
    """A section per page, whose title is the document's title, else the file's name, and the number of the page.

    pypdf refuses streams that unpack to more than 75 MB. A page that cannot be read is told, and the others are read.
    """
    with document.path.open("rb") as file:
        try:
            reader = PdfReader(file)
            if reader.is_encrypted and not reader.decrypt(""):
                raise Unreadable("needs a password, left out")
            title = _one_line((reader.metadata and reader.metadata.title) or "") or document.path.stem
            pages = len(reader.pages)
        except Unreadable:
            raise
        except Exception as error:  # of any kind: a damaged file leads pypdf anywhere
            raise Unreadable(f"is a damaged PDF, left out: {_reason(error)}") from error
        blank = 0
        for number in range(1, pages + 1):
            try:
                text = _one_line(re.sub(r"(?<=\w)-\n(?=[a-z])", "", reader.pages[number - 1].extract_text()))
            except Exception as error:  # as above
                document.tell(f"page {number} cannot be read, left out: {_reason(error)}")
                continue
            if len(text) > _LONGEST:
                document.tell(f"page {number} has {len(text):,} characters, left out")
            elif text:
                yield Section(f"{title}, page {number}", text)
            else:
                blank += 1
        if blank:
            document.tell(f"{blank} of {pages} pages have no text; if they are scans, recognize their text first (OCR)")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _reason(error: Exception) -> str:
    return _one_line(str(error))[:200] or type(error).__name__
