"""The site of docs/, built strictly from a copy of its sources, and looked at in a browser."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from support.browser import Browser, a_browser

import optimizers
import programs
from eval.papers.tables import all_tables

ROOT = Path(__file__).parents[1]
PAGES = sorted(page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))
_LOADED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("link", "href")}

pytestmark = [pytest.mark.needs("zensical", "selenium"), pytest.mark.xdist_group("site")]


class Page(HTMLParser):
    """A page's anchors, its links, those of its navigation, what it loads, and its text without code."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.navigation: list[str] = []
        self.loads: list[str] = []
        self.text = ""
        self._code = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._code += tag in ("code", "script")
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif (tag, name) in _LOADED and value:
                self.loads.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)
                if "md-nav__link" in (dict(attrs).get("class") or ""):
                    self.navigation.append(value)

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag in ("code", "script")

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source")
    shutil.copy(ROOT / "zensical.toml", source)
    shutil.copytree(ROOT / "docs", source / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return source / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    own = (path for path in site.rglob("*.html") if path.name != "404.html" and "assets" not in path.parts)
    return {path: Page(path) for path in own}


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with a_browser(tmp_path / "profile") as browser:
        yield browser


def test_every_page_is_built_and_in_the_navigation(pages: dict[Path, Page], site: Path) -> None:
    built = {path.relative_to(site).as_posix() for path in pages}
    assert built == {re.sub(r"README\.md$", "index.md", page).removesuffix(".md") + ".html" for page in PAGES}
    assert built <= {link.removeprefix("./") for link in pages[site / "index.html"].navigation}


def test_every_link_within_the_site_leads_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            url = urlsplit(link)
            if not url.scheme:
                target = (path.parent / unquote(url.path)).resolve() if url.path else path
                target = target / "index.html" if target.is_dir() else target
                known = pages[target].anchors if target in pages else set()
                if not target.exists() or (url.fragment and unquote(url.fragment) not in known):
                    broken.append((path.name, link))
    assert not broken


def test_no_reference_is_left_unresolved(pages: dict[Path, Page]) -> None:
    assert not [
        (path.name, left) for path, page in pages.items() for left in re.findall(r"\]\[[\w.]*\]|\{\{", page.text)
    ]


def test_nothing_is_loaded_from_other_hosts(pages: dict[Path, Page], site: Path) -> None:
    loaded = {link for page in pages.values() for link in page.loads}
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    loaded |= set(re.findall(r"url\(\s*[\"']?([^)\"']+)|@import\s+[\"']([^\"']+)", styles))
    assert not [link for link in loaded if re.match(r"(https?:)?//", "".join(link))]


def test_the_reference_has_every_method_recipe_and_retriever(pages: dict[Path, Page], site: Path) -> None:
    methods = {f"programs.{name}.{programs.load(name).__name__}" for name in programs.names()}
    assert methods <= pages[site / "reference" / "programs.html"].anchors
    assert {f"optimizers.recipes.{name}" for name in optimizers.names()} <= pages[
        site / "reference" / "optimizers.html"
    ].anchors
    assert {"retrieval.Passage", "retrieval.bm25.BM25", "retrieval.qdrant.Qdrant"} <= pages[
        site / "reference" / "retrieval.html"
    ].anchors


def test_the_papers_pages_have_every_table_with_its_figures(site: Path) -> None:
    for table in all_tables():
        text = (site / "papers" / f"{table.name.partition(':')[0]}.html").read_text(encoding="utf-8")
        assert f"odqa eval paper {table.name}\n" in text
        for row in table.rows:
            for column, figure in zip(table.columns, row.figures, strict=True):
                assert figure is None or f">{figure}{column.unit}</td>" in text


def test_pages_fit_wide_and_narrow_windows_light_and_dark_and_ask_no_other_host(browser: Browser, site: Path) -> None:
    shades = []
    for page in ("index", "methods/index", "papers/blendfilter", "reference/programs"):
        for width, scheme in ((1280, "light"), (390, "dark")):
            browser.open(f"file://{site}/{page}.html", width=width, scheme=scheme)
            assert browser.run("document.documentElement.scrollWidth <= window.innerWidth")
            assert browser.run("performance.getEntriesByType('resource').every((e) => e.name.startsWith('file:'))")
            shades.append(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert len(set(shades[::2])) == 1
    assert len(set(shades[1::2])) == 1
    assert shades[0] != shades[1]
    assert browser.complaints() == []


def test_the_search_needs_no_network_and_no_server(browser: Browser, site: Path) -> None:
    browser.open(f"file://{site}/design.html")
    browser.click(".md-search__button")
    window = "[...document.querySelectorAll('*')].find((e) => e.shadowRoot)?.shadowRoot"
    browser.wait(f"{window}?.activeElement?.tagName === 'INPUT'")
    browser.press(*"hipporag")
    browser.wait(f"[...{window}.querySelectorAll('a')].some((e) => e.href.includes('/hipporag.html?'))")
    assert browser.complaints() == []
