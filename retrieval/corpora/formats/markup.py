"""HTML, and Markdown by way of HTML: a section per heading."""

import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from odqa.extras import needing
from retrieval.corpora.formats.section import Document, Section, Unreadable
from retrieval.corpora.formats.text import read_text

with needing("corpora"):
    from bs4 import BeautifulSoup
    from bs4.dammit import EncodingDetector
    from bs4.element import NavigableString, PreformattedString, Tag
    from bs4.exceptions import ParserRejectedMarkup
    from markdown_it import MarkdownIt

__all__ = ["html_sections", "markdown_sections", "sections_of"]

_LEFT_OUT = re.compile(
    "script|style|template|noscript|svg|iframe|object|nav|footer|button|select|textarea|head"
)  # tags: no text, or what leads around a site and stands on all its pages
_BLOCK = re.compile(
    "address|article|aside|blockquote|body|caption|dd|details|div|dl|dt|fieldset|figcaption|figure|form|h[1-6]|header|hr|"
    "html|li|main|ol|p|pre|section|summary|table|tbody|tfoot|thead|tr|ul"
)  # tags that begin and end a paragraph
_SPACE = re.compile("br|td|th")  # tags that part words within a paragraph
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_FRONT_TITLE = re.compile(r"^title:(.*)$", re.MULTILINE)


def markdown_sections(document: Document) -> Iterator[Section]:
    """A section per heading, without the markup. Of YAML in front of the text only the title is read."""
    text, title = read_text(document), document.path.stem
    if front := _FRONT.match(text):
        text = text[front.end() :]
        if named := _FRONT_TITLE.search(front[1]):
            title = _unquoted(named[1].strip()) or title
    html = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    yield from sections_of(_paragraphs(_parsed(html)), title)


def html_sections(document: Document) -> Iterator[Section]:
    """A section per heading, of the page's `main` if it has one. Scripts, navigation and the like are left out."""
    page = _parsed(read_text(document, _declared))
    title = " ".join(page.title.get_text().split()) if page.title else ""
    yield from sections_of(_paragraphs(page.find("main") or page), title or document.path.stem)


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _declared(content: bytes) -> str | None:
    """The encoding that the page names in itself."""
    found = EncodingDetector.find_declared_encoding(content, is_html=True)
    return str(found) if found else None


def _parsed(html: str) -> BeautifulSoup:
    # After the last ">" nothing is a tag. The parser would look for an end from each "<" on, in quadratic time.
    tags, end, rest = html.rpartition(">")
    html = tags + end + rest.replace("<", "&lt;")
    with warnings.catch_warnings(action="ignore"):  # that it looks like XML, or like a file's name
        try:
            return BeautifulSoup(html, "html.parser")
        except ParserRejectedMarkup as error:
            reason = str(error).strip().rpartition("\n")[2].strip()
            raise Unreadable(f"is damaged HTML, left out: {reason}") from error


def sections_of(paragraphs: Iterable[tuple[str, str]], title: str) -> Iterator[Section]:
    """The sections under each heading; a title is the headings above the text, the first in place of the page's.

    A heading with nothing under it is the text of a section. Each paragraph comes with what it is: "h1" to "h9" for
    headings, else anything.
    """
    path: list[tuple[int, str]] = []
    text: list[str] = []
    for tag, paragraph in chain(paragraphs, [("h0", "")]):
        if not re.fullmatch(r"h\d", tag):
            text.append(paragraph)
            continue
        level = int(tag[1])
        if text:
            yield Section(_title(title, path), "\n".join(text))
        elif path and path[-1][0] >= level:
            yield Section(_title(title, path[:-1]), path[-1][1])
        text = []
        path = [(above, heading) for above, heading in path if above < level] + [(level, paragraph)]


def _title(title: str, path: list[tuple[int, str]]) -> str:
    headings = [heading for _, heading in path]
    return " > ".join(headings if path and path[0][0] == 1 else [title, *headings])


def _paragraphs(page: Tag) -> Iterator[tuple[str, str]]:
    """The paragraphs, each with the name of the tag that it stands in."""
    for _, strings in groupby(_strings(page), key=lambda pair: id(pair[0])):
        parts = list(strings)
        if paragraph := " ".join("".join(text for _, text in parts).split()):
            yield parts[0][0].name, paragraph


def _strings(page: Tag) -> Iterator[tuple[Tag, str]]:
    """What is written on the page, in order, each string with the nearest tag around it that makes a paragraph."""
    around = {id(page): page}  # tag -> the tag that makes its paragraph; nothing for tags that are left out
    for element in page.descendants:
        block = around.get(id(element.parent))
        if block is None:
            continue
        if isinstance(element, Tag):
            if _LEFT_OUT.fullmatch(element.name):
                continue
            around[id(element)] = element if _BLOCK.fullmatch(element.name) else block
            if _SPACE.fullmatch(element.name):
                yield block, " "
            elif element.name == "img" and (alt := element.get("alt")):
                yield block, f" {alt} "
        elif isinstance(element, NavigableString) and not isinstance(element, PreformattedString):
            yield block, str(element)
