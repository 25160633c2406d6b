"""The passages of a folder of documents (text, Markdown, HTML, CSV, PDF), cut where paragraphs and sentences end."""

import logging
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import regex

from odqa.errors import UsageError
from odqa.extras import needing
from retrieval.corpora.formats import READERS, Columns, Document, Unreadable
from retrieval.models import without_surrogates
from retrieval.passage import Passage

with needing("corpora"):
    from semantic_text_splitter import TextSplitter

__all__ = ["Folder"]

logger = logging.getLogger(__name__)

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"  # scripts that put no spaces between words
_WORD = regex.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")
_LONG = 12  # characters that count as a word at least, about twice what a word of English takes
_UNBROKEN = 2000  # letters in a row, after which a text is cut: the splitter's time grows with the square of them
_RUN = re.compile(rf"\b\w{{{_UNBROKEN + 1},}}")
_BLOCK = 1 << 13  # characters that the splitter is given at once, for the same reason: a text may have no sentences


class Folder:
    """The passages of a folder of documents, or of a single one. Going through it reads the documents, one at a time.

    Read are files that end in .txt, .md, .html, .csv, .tsv, .pdf and other usual endings of these kinds, in all
    folders below, in the order of their names, so that the same files give the same passages each time. Hidden files
    and symbolic links are left out. Nothing in a document is executed, and nothing that it names is fetched.

    An id is the document's path in the folder and the number of the passage in it, such as ``notes/finland.md#3``. In
    the path whatever is no letter, digit, ``_``, ``-``, ``.`` or ``/`` is written as in a URL. Rows of a table have the
    ids of its id column, or else the numbers of their lines; a row that is cut gives ``ID``, ``ID.2``, ``ID.3`` …

    Titles are the headings above the passage (Markdown, HTML), the title column (tables), the document's title with
    the page (PDF), or the name of the file.

    Args:
        path: The folder, or a file.
        words: Most words of a passage. In scripts without spaces a character counts as a word. 12 characters count as
            a word at least.
        overlap: At most so many words of the end of a passage stand at the beginning of the next one too.
        text_column: The column of a table that holds the text; "" for none: all columns are the text, as lines of
            ``column: value``. By default a column with a usual name, such as text or body; else none.
        title_column: Likewise for the title, by default title or name.
        id_column: Likewise for the id, by default id or docid.

    Attributes:
        files: How many documents gave passages, the last time.
        problems: What was left out then, or not read as it should be, one line each, which are logged as warnings too.

    Raises:
        UsageError: the extra is not installed, there is no such folder, or a number is out of range. When it is gone
            through: two rows have the same id.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        words: int = 100,
        overlap: int = 0,
        text_column: str | None = None,
        title_column: str | None = None,
        id_column: str | None = None,
    ) -> None:
        self._path = Path(path)
        if not self._path.exists():
            raise UsageError(f"there is no folder {self._path}")
        if self._path.is_file() and self._path.suffix.lower() not in READERS:
            raise UsageError(f"{self._path} is no document: a name of one ends in {', '.join(READERS)}")
        if not 0 <= overlap < words:
            raise UsageError(
                f"a passage has at least 1 word, and overlaps by fewer than it has, not {words} and {overlap}"
            )
        self._splitter = TextSplitter.from_callback(_size, words, overlap=overlap)
        self._columns = Columns(text_column, title_column, id_column)
        self.files = 0
        self.problems: list[str] = []

    def __iter__(self) -> Iterator[Passage]:
        self.files, self.problems = 0, []
        given: dict[str, str] = {}  # id of a passage of a table -> where it stands
        root = self._path.parent if self._path.is_file() else self._path
        for path in [self._path] if self._path.is_file() else self._documents():
            document = Document(path, _quoted(path.relative_to(root).as_posix()), self._columns)
            found = 0
            try:
                for section in READERS[path.suffix.lower()](document):
                    title = " ".join(without_surrogates(section.title).split())
                    for piece, text in enumerate(self._pieces(without_surrogates(section.text)), 1):
                        found += 1
                        if own := section.id:
                            own = f"{own}.{piece}" if piece > 1 else own
                            _claim(given, own, f"{document.name}, {section.place}")
                        yield Passage(own or f"{document.name}#{found}", text, title)
            except Unreadable as error:
                document.tell(str(error))
            except OSError as error:
                document.tell(f"cannot be read, left out: {error.strerror or error}")
            if not found and not document.problems:
                document.tell("has no text")
            self.files += bool(found)
            self.problems += [f"{document.name}: {problem}" for problem in document.problems]

    def _pieces(self, text: str) -> Iterator[str]:
        """The text, cut into passages."""
        for block in _blocks(text):
            start = 0
            for run in _RUN.finditer(block):
                for end in range(run.start() + _UNBROKEN, run.end(), _UNBROKEN):
                    yield from self._splitter.chunks(block[start:end])
                    start = end
            yield from self._splitter.chunks(block[start:])

    def _documents(self) -> Iterator[Path]:
        """The documents in the folder, in order; at the end it tells what else there is."""
        others: Counter[str] = Counter()
        folders = [self._path]  # not os.walk, which fails where folders are nested deeper than Python recurses
        while folders:
            try:
                with os.scandir(folders.pop()) as entries:
                    found = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self._tell(f"{_quoted(str(error.filename))}: cannot be read, left out: {error.strerror}")
                continue
            below = []
            for entry in found:
                path = Path(entry.path)
                if entry.name.startswith("."):
                    others["hidden"] += 1
                elif entry.is_symlink():
                    others["symbolic links"] += 1
                elif entry.is_dir():
                    below.append(path)
                elif path.suffix.lower() not in READERS or not entry.is_file():
                    others[_quoted(path.suffix.lower()) or "without an ending"] += 1
                else:
                    yield path
            folders += reversed(below)
        if others:
            self._tell(f"left out of {self._path}: {', '.join(f'{n} {what}' for what, n in sorted(others.items()))}")

    def _tell(self, problem: str) -> None:
        self.problems.append(problem)
        logger.warning("%s", problem)


def _blocks(text: str) -> Iterator[str]:
    """The text in blocks of a bounded length, cut behind a paragraph, else a sentence, else a word."""
    start = 0
    while len(text) - start > _BLOCK:
        ends = (text.rfind(end, start, start + _BLOCK) for end in ("\n", ". ", " "))
        cut = next((end + 1 for end in ends if end > start), start + _BLOCK)
        yield text[start:cut]
        start = cut
    yield text[start:]


def _claim(given: dict[str, str], id_: str, place: str) -> None:
    """Note where the row stands that has this id.

    Raises:
        UsageError: another row has it.
    """
    if id_ in given:
        raise UsageError(
            f"two rows have the id {id_!r}, {given[id_]} and {place}: ids must differ; choose another id "
            "column (--id-column), or none (--id-column '') to have ids made"
        )
    given[id_] = place


def _quoted(path: str) -> str:
    """The path as a part of ids and messages: on one line, without spaces, different for different paths."""
    return re.sub(r"[^\w/.-]", lambda match: quote(match[0], safe="", errors="surrogateescape"), path)


def _size(text: str) -> int:
    """How many words the text counts as."""
    words = len(text.split()) if text.isascii() else len(_WORD.findall(text))
    return max(words, len(text) // _LONG)
