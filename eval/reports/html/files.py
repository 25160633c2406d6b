"""Each table of the page as Markdown and LaTeX, and each drawing as an SVG file."""

import re
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from urllib.parse import quote

from eval.reports.html.tables import Table
from eval.reports.html.view import Chart
from eval.reports.html.visible import visible
from odqa.files import write_whole
from retrieval import UsageError

__all__ = ["Files", "component", "files", "latex", "markdown", "write_files"]

Files = Mapping[str, Mapping[str, str]]
"""By the id of a table or a drawing: what its files hold, by their endings md, tex and svg."""

_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "→": r"$\rightarrow$",
    "\n": " ",
}


def component(name: str) -> str:
    """A file of the served page that the report has too."""
    return (resources.files("programs.serving") / "page" / name).read_text("utf-8")


def files(parts: Iterable[Table | Chart]) -> Files:
    """The files of all tables and drawings on a page."""
    style = _standalone()
    made: dict[str, dict[str, str]] = {}
    for part in parts:
        if isinstance(part, Table):
            made[part.id] = {"md": markdown(part), "tex": latex(part)}
        if drawing := part.drawing:
            made.setdefault(part.id, {})["svg"] = drawing.as_file(style)
    return made


def write_files(made: Files, directory: str | Path) -> None:
    """Write them as ID.md, ID.tex and ID.svg into a directory, which is made where it is missing.

    Raises:
        UsageError: a file cannot be written.
    """
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        for id_, texts in made.items():
            for ending, text in texts.items():
                write_whole(Path(directory) / f"{quote(id_, safe='')}.{ending}", text)
    except OSError as error:
        raise UsageError(f"cannot write into {directory}: {error.strerror}") from error


def markdown(table: Table) -> str:
    """The table in GitHub's Markdown, with its caption in bold."""
    head, *lines = ([_markdown(text) for text in row] for row in table.texts())
    rule = ["---", *("---" if table.words else "---:" for _ in head[1:])]
    rows = ["| " + " | ".join(row) + " |" for row in (head, rule, *lines)]
    return "\n".join([f"**{_markdown(table.caption)}**", "", *rows, ""])


def latex(table: Table) -> str:
    """The table in LaTeX, with the rules of the package booktabs. Parts of a line are set in."""
    head, *rows = ([_latex(text) for text in row] for row in table.texts())
    for line, row in zip(table.lines, rows, strict=True):
        # After the end of a line LaTeX reads [ and * as what belongs to it.
        row[0] = f"\\quad {row[0]}" if line.part else f"{{}}{row[0]}" if row[0].startswith(("[", "*")) else row[0]
    columns = "l" + ("l" if table.words else "r") * (len(head) - 1)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            f"\\caption{{{_latex(table.caption)}}}",
            f"\\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _standalone() -> str:
    """The style of drawings with light colours in place: programs that read SVG files know no variables."""
    colours = dict(re.findall(r"(--\w+): light-dark\((.+?),", component("base.css") + component("drawing.css")))
    rules = re.sub(r"/\*.*?\*/\n:root \{.*?\}\n", "", component("drawing.css"), flags=re.DOTALL)
    return re.sub(r"var\((--\w+)\)", lambda name: colours[name[1]], rules)


def _markdown(text: str) -> str:
    return re.sub(r"([\\|*_`<]|!(?=\[)|\](?=\())", r"\\\1", " ".join(text.split()))


def _latex(text: str) -> str:
    negative = re.sub(r"(?<![\w.])-(?=\d)", "−", visible(text))
    return "".join(_LATEX.get(character, character) for character in negative)
