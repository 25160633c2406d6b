"""The page of all methods: made from runs, added to, limited, and written anew from its figures."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.command_line import exit_code

from eval.__main__ import main
from eval.records.lines import Line, QuestionLine, read_lines, write_lines
from eval.reports.methods import page
from programs import names

METHODS = Path(__file__).parents[3] / "docs" / "methods"
SET = """
tasks = [{ task = "sample", settings = { k = 3 } }]
programs = ["direct", "genread", "itrg"]
lms = ["oracle", "extractive"]
limit = 3
"""


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text(SET)


def call(*flags: str) -> int | str | None:
    return exit_code(main, ["table", "my.toml", *flags])


def test_the_page_and_its_figures_are_those_of_the_runs_and_the_same_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert call() == 0
    made, figures = Path("README.md").read_text(), Path("table.csv").read_text()
    by_key = {(line.program, line.lm): line for line in read_lines(Path("table.csv"), Line)}
    assert list(by_key) == [(name, lm) for name in ("direct", "genread", "itrg") for lm in ("floor", "ceiling")]
    direct, book, notes = (by_key[name, "ceiling"] for name in ("direct", "genread", "itrg"))
    assert (direct.n, direct.settings, direct.variant, direct.metric, direct.gold) == (3, "k 3", "", "em", "ids")
    assert (direct.lm_calls, direct.depth, direct.searches) == (1, 1, 1)
    assert direct.found == direct.kept
    assert (book.found, book.kept, book.searches) == (None, None, 0)  # a closed book
    assert (notes.found is not None, notes.kept) == (True, None)  # its document is the LM's
    assert "*Notes*" in made
    assert made.startswith("# Methods, compared\n")
    assert "default" not in made  # what is only true of the page of all methods

    capsys.readouterr()
    assert call() == 0  # finished runs are not made again
    assert capsys.readouterr().err.count("which is finished") == 6
    assert (Path("README.md").read_text(), Path("table.csv").read_text()) == (made, figures)
    Path("README.md").unlink()
    assert call("--no-runs") == 0
    assert Path("README.md").read_text() == made


def test_runs_of_another_lm_or_form_are_added_and_the_page_says_what_they_lack() -> None:
    assert call() == 0
    Path("more.toml").write_text(
        'tasks = "sample"\nprograms = { program = "direct", settings = { k = 2 } }\nlms = "extractive"\n'
        'adapters = { adapter = "json", structured = "on" }\nlimit = 3'
    )
    assert exit_code(main, ["table", "more.toml", "--lm", "oracle:0.5"]) == 0
    lines = read_lines(Path("table.csv"), Line)
    assert [(line.lm, line.variant) for line in lines if line.program == "direct"] == [
        ("floor", ""),
        ("ceiling", ""),
        ("oracle/error-rate-0.5", "k 2, by schema"),
    ]
    made = Path("README.md").read_text()
    assert "| direct, k 2, by schema |" in made
    assert "- oracle/error-rate-0.5: sample with genread, itrg." in made
    assert "- ceiling: " not in made


def test_a_language_model_has_a_table_of_its_own_that_says_what_is_lost_and_how_it_stands_to_direct() -> None:
    Path("more.toml").write_text(
        'tasks = "sample"\nprograms = ["direct", "cot", { program = "cot", retrievers = "none" }]\nlimit = 6'
    )
    assert exit_code(main, ["table", "more.toml", "--lm", "oracle:0.5", "--lm", "oracle"]) == 0
    lines = {(line.program, line.variant): line for line in read_lines(Path("table.csv"), Line) if line.lm != "ceiling"}
    direct, cot, closed = lines["direct", ""], lines["cot", ""], lines["cot", "closed book"]
    assert direct.to_direct is None
    for line in (cot, closed):
        assert line.to_direct == pytest.approx(line.score - direct.score, abs=1e-4)
        assert line.to_direct_low is not None
        assert line.to_direct_high is not None
        assert line.to_direct_low <= line.to_direct <= line.to_direct_high
        assert line.to_direct_p is not None
    for line in (direct, cot):
        assert (line.dropped, line.answered) == (0, 6)
        assert (line.not_found or 0) + (line.misread or 0) == round(6 * (1 - line.score)) > 0
        assert line.f1 is not None
        assert line.f1 >= line.score
        assert line.seconds is not None
    assert (closed.not_found, closed.dropped, closed.misread) == (0, 0, 0)  # nothing was to be found
    (ceiling,) = (
        line for line in read_lines(Path("table.csv"), Line) if (line.program, line.lm) == ("direct", "ceiling")
    )
    assert (ceiling.f1, ceiling.seconds) == (None, None)
    made = Path("README.md").read_text()
    assert f"| cot | oracle/error-rate-0.5 | 6 | {100 * cot.score:.0f} [" in made
    assert f"| {100 * (closed.to_direct or 0):+.0f} (p {closed.to_direct_p:.2f}) |" in made
    assert made.index("## oracle/error-rate-0.5 at a glance") < made.index("## Ceiling at a glance")


def test_runs_without_figures_alone_are_made_and_compared_with_direct_where_its_run_is_gone() -> None:
    Path("more.toml").write_text('tasks = "sample"\nprograms = ["direct", "cot"]\nlms = "oracle:0.5"\nlimit = 6')
    assert exit_code(main, ["table", "more.toml"]) == 0
    lines, questions = Path("table.csv").read_text(), Path("questions.csv").read_text()
    asked = read_lines(Path("questions.csv"), QuestionLine)
    assert [line.program for line in asked] == ["cot"] * 6 + ["direct"] * 6
    (cot,) = (line for line in read_lines(Path("table.csv"), Line) if line.program == "cot")
    assert sum(line.score for line in asked[:6]) / 6 == pytest.approx(cot.score, abs=1e-4)
    shutil.rmtree("runs")
    assert exit_code(main, ["table", "more.toml", "--missing"]) == 0
    assert not Path("runs").exists()

    Path("table.csv").write_text("".join(each for each in lines.splitlines(True) if ",cot," not in each))
    assert exit_code(main, ["table", "more.toml", "--missing"]) == 0
    assert len(list(Path("runs").rglob("manifest.json"))) == 1  # direct is not asked again
    assert read_lines(Path("table.csv"), Line)[0].to_direct == cot.to_direct is not None
    assert Path("questions.csv").read_text().count("direct") == questions.count("direct")


def test_figures_that_are_not_as_they_were_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert call() == 0
    assert "not as it was" not in capsys.readouterr().err
    made = read_lines(Path("table.csv"), Line)
    write_lines(Path("table.csv"), [made[0].model_copy(update={"depth": 7.0}), *made[1:]], Line)
    shutil.rmtree("runs")
    assert call() == 0
    (said,) = (line for line in capsys.readouterr().err.splitlines() if "not as it was" in line)
    assert said.endswith("not as it was: sample, direct, floor: depth 7.0 -> 1.0")
    assert read_lines(Path("table.csv"), Line) == made


def test_each_run_is_in_the_figures_as_soon_as_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def write(file: Path, lines: Iterable[Line], kind: type) -> None:
        made.append(sum(line.n > 0 for line in lines))

    monkeypatch.setattr("eval.commands.table.write_lines", write)
    assert call("--limit", "1") == 0
    assert made == [1, 2, 3, 4, 5, 6, 6]
    made.clear()
    assert call("--limit", "1") == 0
    assert made == [6]  # nothing was run


def test_what_there_is_before_a_limit_is_on_the_page() -> None:
    assert call("--max-calls", "4", "--threads", "1", "--lm-calls", "1") == 0
    assert [line.n for line in read_lines(Path("table.csv"), Line)] == [1, 3, 0, 0, 0, 0]
    made = Path("README.md").read_text()
    assert "- floor: 2 of 3 questions of sample with direct." in made
    assert "- floor: sample with genread, itrg." in made
    assert call() == 0
    assert "sample with" not in Path("README.md").read_text()


def test_a_plan_writes_nothing() -> None:
    assert call("--plan") == 0
    assert not Path("README.md").exists()


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [(["--out", "page.html"], "its name must end in .md"), (["--no-runs"], "there are no figures in table.csv")],
)
def test_a_mistake_is_one_line(flags: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*flags) == 2
    assert complaint in capsys.readouterr().err
    assert not Path("page.html").exists()


def test_a_page_of_the_user_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    Path("README.md").write_text("# My project\n")
    assert call() == 2
    assert "README.md is no page of this command's" in capsys.readouterr().err
    assert (Path("README.md").read_text(), Path("runs").exists()) == ("# My project\n", False)
    assert call("--out", "methods.md") == 0


def test_figures_of_another_form_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("table.csv").write_text("program,score\ndirect,much\n")
    assert call("--no-runs") == 2
    assert "table.csv is not as this command writes it" in capsys.readouterr().err


def test_the_page_of_the_documentation_is_that_of_its_figures_and_has_every_program_and_data_set() -> None:
    lines = read_lines(METHODS / "table.csv", Line)
    made = page(lines, names(), names())
    assert (METHODS / "README.md").read_text(encoding="utf-8") == made
    assert {line.program for line in lines if line.lm == "ceiling" and line.n} == set(names())
    assert {line.task for line in lines} >= {"hotpotqa", "2wikimultihopqa", "musique", "bamboogle", "strategyqa"}
    assert {line.task for line in lines} >= {"nq", "triviaqa", "popqa"}
    for name in names():
        assert f"[{name}]({name}.md)" in made
        assert (METHODS / f"{name}.md").is_file()
