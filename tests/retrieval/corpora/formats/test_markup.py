"""Markdown and HTML: headings become titles, and only what is text is read."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from retrieval.corpora.formats import Columns, Document, Section, Unreadable
from retrieval.corpora.formats.markup import html_sections, markdown_sections

pytestmark = pytest.mark.needs("semantic_text_splitter")


def sections(
    read: Callable[[Document], Iterator[Section]], path: Path, content: str | bytes
) -> tuple[list[tuple[str, str]], list[str]]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    document = Document(path, path.name, Columns())
    return [section[:2] for section in read(document)], document.problems


def markdown(folder: Path, content: str) -> list[tuple[str, str]]:
    found, problems = sections(markdown_sections, folder / "notes.md", content)
    assert problems == []
    return found


def html(folder: Path, content: str) -> list[tuple[str, str]]:
    found, problems = sections(html_sections, folder / "page.html", content)
    assert problems == []
    return found


class TestMarkdown:
    def test_titles_are_the_headings_above(self, tmp_path: Path) -> None:
        text = "Before.\n\n# A\n\nIn A.\n\n## B\n\nIn B.\n\n#### C\n\nIn C.\n\n## D\n\nIn D.\n\n# E\n\nIn E."
        assert markdown(tmp_path, text) == [
            ("notes", "Before."),
            ("A", "In A."),
            ("A > B", "In B."),
            ("A > B > C", "In C."),
            ("A > D", "In D."),
            ("E", "In E."),
        ]

    def test_without_a_main_heading_the_title_is_that_of_the_document(self, tmp_path: Path) -> None:
        assert markdown(tmp_path, "## B\n\nText.") == [("notes > B", "Text.")]
        assert markdown(tmp_path, '---\ntags: [x]\ntitle: "My notes"\n---\n## B\n\nText.') == [
            ("My notes > B", "Text.")
        ]
        assert markdown(tmp_path, "---\ntitle: It's\n---\nText.") == [("It's", "Text.")]
        assert markdown(tmp_path, "---\ntitle:\n---\nText.") == [("notes", "Text.")]
        assert markdown(tmp_path, "---\ntags: [x]\n---\nText.\n\n---\n\nMore.") == [("notes", "Text.\nMore.")]

    def test_a_heading_with_nothing_under_it_is_text(self, tmp_path: Path) -> None:
        text = "# Questions\n\n## Is it lost?\n\n## Or not?\n"
        assert markdown(tmp_path, text) == [("Questions", "Is it lost?"), ("Questions", "Or not?")]

    def test_the_markup_goes_and_the_text_stays(self, tmp_path: Path) -> None:
        text = (
            "Some **bold** `code`, a [link](http://x.y) and ![a picture](x.png).\n\n* one\n* two\n\n"
            "```\n# no heading\n```\n\n| a | b |\n|---|---|\n| c | d |\n\n<script>alert(1)</script>\n"
        )
        assert markdown(tmp_path, text) == [
            ("notes", "Some bold code, a link and a picture .\none\ntwo\n# no heading\na b\nc d")
        ]


class TestHtml:
    def test_paragraphs_are_what_stands_between_blocks(self, tmp_path: Path) -> None:
        page = "<div>a<p>b <b>bo</b>ld<br>c<p>d</div>e<table><tr><td>x</td><td>y</td></tr></table><ul><li>1<li>2</ul>"
        assert html(tmp_path, page) == [("page", "a\nb bold c\nd\ne\nx y\n1\n2")]

    def test_only_what_is_read_on_the_page_is_text(self, tmp_path: Path) -> None:
        page = (
            "<!doctype html><html><head><title>The\n page</title><style>p {}</style></head><body><nav>menu</nav>"
            "<script>alert(1)</script><!-- no --><p>Text &amp; more.</p><template>no</template><footer>no</footer>"
        )
        assert html(tmp_path, page) == [("The page", "Text & more.")]
        assert html(tmp_path, f"{page}<main><h1>Main</h1><p>Only this.</main>") == [("Main", "Only this.")]

    def test_the_encoding_that_a_page_names_is_used_unless_it_is_utf_8(self, tmp_path: Path) -> None:
        page = '<meta charset="windows-1251"><p>Хельсинки'
        assert sections(html_sections, tmp_path / "p.html", page.encode("cp1251")) == ([("p", "Хельсинки")], [])
        assert html(tmp_path, page) == [("page", "Хельсинки")]
        found, problems = sections(html_sections, tmp_path / "p.html", b'<meta charset="martian"><p>caf\xe9')
        assert found == [("p", "café")]
        assert problems == [
            "declares the encoding 'martian', which there is not",
            "is not UTF-8, read as Latin-1 (Windows-1252)",
        ]

    @pytest.mark.parametrize("page", ["<" * 5000, "<b>" * 20_000 + "deep", "</p></p><p", "<?xml?><p>x"])
    def test_broken_pages_do_no_harm(self, tmp_path: Path, page: str) -> None:
        html(tmp_path, page)

    def test_what_the_parser_rejects_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(Unreadable, match="is damaged HTML, left out: AssertionError: unknown status keyword 'foo'"):
            html(tmp_path, "<p>Text.<![foo[ x ]]>")

    def test_nested_quotes_do_no_harm(self, tmp_path: Path) -> None:
        markdown(tmp_path, ">" * 20_000 + "deep")


def test_a_tag_that_never_ends_is_text_however_often_it_begins(tmp_path: Path) -> None:
    assert html(tmp_path, "<p>3 <b>apples</b> <a pie <a cake") == [("page", "3 apples <a pie <a cake")]
    ((_, text),) = html(tmp_path, "<a b=" * 100_000)
    assert text == "<a b=" * 100_000
