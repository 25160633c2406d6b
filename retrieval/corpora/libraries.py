"""The packages of the extra `corpora`, imported in one place, which says what is missing."""

from odqa.errors import UsageError

try:
    from bs4 import BeautifulSoup
    from bs4.dammit import EncodingDetector
    from bs4.element import NavigableString, PreformattedString, Tag
    from bs4.exceptions import ParserRejectedMarkup
    from docx import Document as WordDocument
    from docx.document import Document as OpenWordDocument
    from docx.table import Table
    from markdown_it import MarkdownIt
    from pypdf import PdfReader
    from semantic_text_splitter import TextSplitter
except ModuleNotFoundError as error:
    raise UsageError(f"{error.name} is not installed, get it by: pip install 'dspy-odqa[corpora]'") from error

__all__ = [
    "BeautifulSoup",
    "EncodingDetector",
    "MarkdownIt",
    "NavigableString",
    "OpenWordDocument",
    "ParserRejectedMarkup",
    "PdfReader",
    "PreformattedString",
    "Table",
    "Tag",
    "TextSplitter",
    "WordDocument",
]
