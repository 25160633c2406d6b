import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.notebooks import execute

pytestmark = pytest.mark.needs("jupytext", "matplotlib")

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
REFRESH = "what the notebooks give has changed: look at it, and run `make notebooks`"


def numbers(drawing: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.\d+", drawing)]


def but_numbers(drawing: str) -> str:
    """Numbers and the hashes of paths can differ in the last place from machine to machine."""
    return re.sub(r"-?\d+\.\d+|\b[mp][0-9a-f]{10}\b", "…", drawing)


def test_the_notebooks_print_and_draw_what_stands_in_them(tmp_path: Path) -> None:
    pages = [page for page in NOTEBOOKS.glob("*.md") if page.name != "README.md"]
    command = [sys.executable, "-W", "error", "-m", "support.notebooks", *map(str, pages), "--into", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == 0, done.stderr
    kept = [*pages, *NOTEBOOKS.glob("*.svg")]
    assert {file.name for file in kept} == {file.name for file in tmp_path.iterdir()}
    for page in pages:
        assert (tmp_path / page.name).read_text(encoding="utf-8") == page.read_text(encoding="utf-8"), REFRESH
    for figure in NOTEBOOKS.glob("*.svg"):
        was, now = (folder / figure.name for folder in (NOTEBOOKS, tmp_path))
        was, now = was.read_text(encoding="utf-8"), now.read_text(encoding="utf-8")
        assert but_numbers(now) == but_numbers(was), REFRESH
        assert numbers(now) == pytest.approx(numbers(was), abs=0.1), REFRESH


def test_outputs_are_replaced_and_text_stays(tmp_path: Path) -> None:
    page, made = tmp_path / "page.md", tmp_path / "made"
    made.mkdir()
    old = "```text\nold\n\nand old\n```\n\n![old](page_1.svg)\n\n"
    text = "Text.\n\n```text\ntext too\n```\n\n```python\nn = 3\n```\n"
    page.write_text(f"# Page\n\n```python\nn = 2\nn\n```\n\n{old}{text}")
    execute(page, made)
    first = (made / page.name).read_text()
    assert first == page.read_text().replace(old, "```text\n2\n```\n\n")
    execute(made / page.name, made)
    assert (made / page.name).read_text() == first


def test_a_cell_that_fails_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text := "# Page\n\n```python\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as failed:
        execute(page, tmp_path)
    assert failed.traceback[-1].frame.code.raw.co_filename == "page.md, cell 2"
    assert page.read_text() == text
