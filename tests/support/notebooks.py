"""Notebooks as Markdown: runs their cells, and puts what each one prints and draws below it.

    python -m support.notebooks PAGE.md … --into FOLDER

jupytext reads and writes the pages: a block of Python is a cell, and the rest is text. Plain text and pictures that
directly follow a cell are its output, which is replaced. The pages, and a file for each figure, go into the folder.

The cells are run here, as Jupyter runs them, so that no kernel is needed. They work in a folder of their own, so that
their runs are not left behind.
"""

import argparse
import ast
import contextlib
import io
import re
import tempfile
import warnings
from pathlib import Path

import jupytext
import matplotlib
import nbformat
from matplotlib import pyplot

_OUTPUT = re.compile(r"\A(?:```text\n.*?^```\s*|!\[[^\]\n]*\]\([^)\n]*\)\s*)+", re.M | re.S)
_DRAWING = {"backend": "agg", "svg.fonttype": "none", "svg.hashsalt": "notebooks"}  # equal figures are equal bytes


def execute(page: Path, folder: Path) -> None:
    """Run a page, and write it with its outputs into the folder."""
    notebook = jupytext.reads(page.read_text(encoding="utf-8"), fmt="md")
    names: dict[str, object] = {"__name__": "__main__"}
    cells: list[nbformat.NotebookNode] = []
    below: list[str] = []  # the output of the cell before
    pictures = 0
    for number, cell in enumerate([*notebook.cells, nbformat.v4.new_markdown_cell()], 1):
        if cell.cell_type == "markdown":
            text = _OUTPUT.sub("", cell.source) if cells and cells[-1].cell_type == "code" else cell.source
            cell.source = "\n\n".join([*below, text]).strip()
        elif below:
            cells.append(nbformat.v4.new_markdown_cell("\n\n".join(below)))
        if cell.source:
            cells.append(cell)
        below = []
        if cell.cell_type == "code":
            below += _printed(cell.source, names, f"{page.name}, cell {number}")
            for figure in map(pyplot.figure, pyplot.get_fignums()):
                pictures += 1
                name = f"{page.stem}_{pictures}.svg"
                figure.savefig(folder / name, metadata={"Date": None, "Creator": None})
                below.append(f"![{figure.axes[0].get_title()}]({name})")
            pyplot.close("all")
    notebook.cells = cells
    notebook.metadata["jupytext"] = {"notebook_metadata_filter": "-all", "cell_metadata_filter": "-all"}
    (folder / page.name).write_text(jupytext.writes(notebook, fmt="md"), encoding="utf-8")


def _printed(source: str, names: dict[str, object], where: str) -> list[str]:
    """What a cell prints, with the value of its last line, as a block of text, if any."""
    cell = ast.parse(source)
    last = cell.body.pop()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(cell, where, "exec"), names)
        exec(compile(ast.Interactive([last]), where, "single"), names)
    text = printed.getvalue().rstrip()
    return [f"```text\n{text}\n```"] if text else []


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    args = parser.parse_args()
    matplotlib.rcParams.update(_DRAWING)
    warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")  # pyplot.show() opens no window
    for page in args.pages:
        given, folder = page.resolve(), args.into.resolve()
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            execute(given, folder)
