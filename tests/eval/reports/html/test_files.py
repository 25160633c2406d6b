from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.records import a_row, a_run

from eval.reports.html.files import latex, markdown, write_files
from eval.reports.html.page import page
from eval.reports.html.tables import Filter, Line, Table
from programs.instruments.cost import Cost
from retrieval import UsageError

TABLE = Table(
    "t",
    "50 % of a|b",
    ["run_1", "p", ""],
    [Line("all", ["-2.5", "[-1.0, +3.0]"]), Line("a−b\\*", [Filter("<0.001", "failed", 0), "$x$"], part=True)],
)


def test_markdown() -> None:
    assert markdown(TABLE).splitlines() == [
        "**50 % of a\\|b**",
        "",
        "| run\\_1 | p |  |",
        "| --- | ---: | ---: |",
        "| all | -2.5 | [-1.0, +3.0] |",
        "| a−b\\\\\\* | \\<0.001 | $x$ |",
    ]
    hostile = Table("t", "c", ["x"], [Line("![x](http://a.b) [y](z)\n| <img>", [])])
    assert markdown(hostile).splitlines()[-1] == "| \\![x\\](http://a.b) [y\\](z) \\| \\<img> |"


def test_latex() -> None:
    text = latex(TABLE)
    assert "\\caption{50 \\% of a|b}" in text
    assert "\\begin{tabular}{lrr}" in text
    assert "all & $-$2.5 & [$-$1.0, +3.0] \\\\" in text
    assert "\\quad a$-$b\\textbackslash{}* & \\textless{}0.001 & \\$x\\$ \\\\" in text
    assert "run\\_1 & p &  \\\\" in text


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("[2em] x", "{}[2em] x"),
        ("* x", "{}* x"),
        ("\x1b\\input{y}", r"\textbackslash{}u001b\textbackslash{}input\{y\}"),
    ],
)
def test_a_name_is_no_command_of_latex(name: str, row: str) -> None:
    hostile = Table("t", "c", ["x"], [Line(name, [])])
    assert f"\\midrule\n{row} \\\\\n" in latex(hostile)


def test_every_table_and_drawing_of_a_page_is_a_file(tmp_path: Path) -> None:
    manifest = {"program": "p</title>&", "settings": {"k": 5}}
    rows = [
        a_row(f"q{n}", scores={"em": float(n % 2), "acc_judge:x/y": 0.5}, type="ab"[n % 2], cost=Cost(1, seconds=2.0))
        for n in range(4)
    ]
    made = page([a_run("one", rows, manifest), a_run("two", rows, {**manifest, "settings": {"k": 64}})])
    write_files(made.files, tmp_path / "new")
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert {"unlike.md", "unlike.tex", "results-em.md", "scores-em.svg", "chart-em-seconds.svg"} <= names
    assert {"differences-all-em.svg", "types-em.tex", "costs-0.md", "setup-of-all.md"} <= names
    assert "scores-acc_judge%3Ax%2Fy.svg" in names
    assert "chart-em-US-dollars.svg" not in names  # all cost nothing: there would be nothing to see
    assert "| settings.k | 5 | 64 |" in (tmp_path / "new" / "unlike.md").read_text()
    for path in (tmp_path / "new").glob("*.svg"):
        text = path.read_text()
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(" not in text  # programs that read SVG files know no variables
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot write into .*file"):
        write_files(made.files, tmp_path / "file")
