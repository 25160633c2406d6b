"""Plain text, and how files of text are decoded."""

import codecs
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TextIO

from retrieval.corpora.formats.section import Document, Section, Unreadable

__all__ = ["open_text", "read_text", "text_sections"]

_BLOCK = 1 << 16  # characters of a section, when the document has that many
_READ = 1 << 20  # bytes checked at a time
_LARGEST = 1 << 26  # bytes of a document that has to be in memory as a whole

# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def text_sections(document: Document) -> Iterator[Section]:
    """Sections of about 65,000 characters, so that a file may be of any length. Blank lines part paragraphs."""
    title = document.path.stem
    with open_text(document) as file:
        paragraphs: list[str] = []
        size = 0
        for paragraph in _paragraphs(file):
            paragraphs.append(paragraph)
            size += len(paragraph)
            if size >= _BLOCK:
                yield Section(title, "\n".join(paragraphs))
                paragraphs, size = [], 0
        yield Section(title, "\n".join(paragraphs))


def open_text(document: Document) -> TextIO:
    """Open a file of text. It is UTF-8, or says by a byte order mark what it is; else it is Latin-1, which is told.

    Raises:
        Unreadable: it is no text.
        OSError: it cannot be read.
    """
    encoding = _encoding(document.path)
    if encoding is None:
        document.tell("is not UTF-8, read as Latin-1 (Windows-1252)")
        encoding = "cp1252"
    # Windows-1252 has five bytes that stand for nothing; UTF-16 may break off.
    return document.path.open(encoding=encoding, errors="replace", newline="")


def read_text(document: Document, declared: Callable[[bytes], str | None] = lambda content: None) -> str:
    """The text of a file that has to be read whole. `declared` finds the encoding that the content itself declares,
    for a file that is not UTF-8.

    Raises:
        Unreadable: it is no text, or longer than 64 MB.
        OSError: it cannot be read.
    """
    if document.path.stat().st_size > _LARGEST:
        raise Unreadable(f"is larger than {_LARGEST >> 20} MB, left out: cut it into several files")
    if _encoding(document.path) is None and (encoding := declared(document.path.read_bytes())):
        try:
            return document.path.read_bytes().decode(encoding, "replace")
        except LookupError:
            document.tell(f"declares the encoding {encoding!r}, which there is not")
    with open_text(document) as file:
        return file.read()


def _encoding(path: Path) -> str | None:
    """The encoding of a file: that of its byte order mark, or UTF-8, or None for another one."""
    with path.open("rb") as file:
        begin = file.read(_READ)
        for mark, encoding in _MARKS:
            if begin.startswith(mark):
                return encoding
        if b"\0" in begin:
            raise Unreadable("is no text, left out")
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            decoder.decode(begin)
            for block in iter(partial(file.read, _READ), b""):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return None
    return "utf-8"


def _paragraphs(file: TextIO) -> Iterator[str]:
    """The paragraphs, each on one line. A very long one comes in parts, cut at a space if there is one."""
    held = ""
    for line in iter(partial(file.readline, _BLOCK), ""):
        if line.strip():
            held += line if line[-1] in "\r\n" or len(line) == _BLOCK else f"{line}\n"
        elif held:
            yield " ".join(held.split())
            held = ""
        if len(held) >= _BLOCK:
            cut = held.rfind(" ") + 1 or len(held)
            yield " ".join(held[:cut].split())
            held = held[cut:]
    if held.strip():
        yield " ".join(held.split())
