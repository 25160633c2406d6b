import json
import re
from html import unescape
from pathlib import Path

import pytest
from support.browser import a_browser
from support.command_line import exit_code
from support.races import a_race

from eval.__main__ import main
from eval.choosing.record import write_race
from eval.reports.html.page import write
from eval.reports.html.race import race_page
from eval.reports.html.visible import visible

pytestmark = pytest.mark.needs("selenium")

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(1)</script>\u202e evil"


def headings(html: str) -> list[str]:
    return re.findall(r"<h2>(.*?)</h2>", html)


def test_the_page_has_the_race_the_front_the_prices_and_what_was_kept_aside() -> None:
    html = race_page(a_race()).html
    assert headings(html) == ["The race", "Quality against price", "Questions kept aside", "What was raced"]
    assert "<h1>Methods for quiz.csv</h1>" in html
    for said in ("cot has the best score.", "finished, 20 of 20 questions were raced, for 124 LM calls"):
        assert said in html
    made = race_page(a_race()).files
    assert {name for name in made if name.startswith("price-")} == {
        f"price-{p}" for p in ("tokens", "calls", "depth", "seconds")
    }
    assert "| ircot | dropped after 20 questions | cot is better and costs no more (p = 0.030) |" in made["drops"]["md"]
    assert "| cot | 60.0 | [40.0, 80.0] | 20 | 300 | 1.00 | 1.00 | 0.50 |" in made["front"]["md"]
    assert made["aside"]["md"].count("\n| ") == 4  # head, rule, the chosen one and direct
    assert "| limit of calls | 200 |" in made["setup"]["md"]


def test_a_line_leads_along_the_scores_of_each_candidate_and_ends_hollow_where_it_was_dropped() -> None:
    drawing = race_page(a_race()).files["way"]["svg"]
    assert "EM against questions. cot: 20, 60.0; direct: 20, 45.0; ircot: 20, 20.0" in drawing
    assert drawing.count('class="whisker') == 3
    assert drawing.count("hollow") - drawing.count(".hollow") == 1
    assert 'class="front"' not in drawing


def test_a_race_that_is_under_way_has_what_is_known() -> None:
    begun = a_race(
        state="racing", looks=(), drops=(), front=(), recommended=None, measured=(), told=None, answerer=None
    )
    assert headings(race_page(begun).html) == ["What was raced"]
    first = begun.model_copy(update={"looks": a_race().looks[:1]})
    page = race_page(first)
    assert headings(page.html) == ["The race", "Quality against price", "What was raced"]
    assert "cot: 10, 60.0" in page.files["way"]["svg"]


def test_a_finished_compiled_candidate_says_where_it_comes_from() -> None:
    race = a_race()
    compiled = race.candidates[1].model_copy(update={"name": "cot compiled", "compiled_from": "cot"})
    page = race_page(a_race(candidates=(*race.candidates, compiled)))
    assert "| cot compiled | cot |  | sample | compiled from cot |" in page.files["candidates"]["md"]


def test_one_that_joined_later_stands_where_the_race_was() -> None:
    *early, last = a_race().looks
    late = last.standings[0].model_copy(update={"questions": 5})
    page = race_page(a_race(looks=(*early, last.model_copy(update={"standings": (late, *last.standings[1:])}))))
    assert "cot: 20, 60.0" in page.files["way"]["svg"]


def test_direct_is_measured_where_it_was_no_candidate() -> None:
    race = a_race()
    looks = [look.model_copy(update={"standings": look.standings[::2]}) for look in race.looks]
    page = race_page(a_race(candidates=race.candidates[1:], looks=tuple(looks)))
    assert "| direct | 50.0 | [10.0, 90.0] | 2 |" in page.files["aside"]["md"]


def test_hostile_text_stays_text() -> None:
    race = a_race()
    hostile = race.candidates[0].model_copy(update={"settings": {HOSTILE: HOSTILE}, "retriever": HOSTILE})
    drop = race.drops[0].model_copy(update={"said": HOSTILE})
    page = race_page(a_race(task=HOSTILE, candidates=(hostile, *race.candidates[1:]), drops=(drop,)))
    assert page.html.count("<script") == 2
    assert "<img" not in page.html
    assert "\u202e" not in page.html
    assert visible(HOSTILE) in unescape(page.html)
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.DOTALL)
    assert data is not None
    assert set(json.loads(data[1])["files"]) == set(page.files)


def test_the_command_writes_the_page_of_a_race_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("race", "other"):
        (tmp_path / name).mkdir()
        write_race(tmp_path / name, a_race())
    out = tmp_path / "race.html"
    words = ["report", "--out", str(out), str(tmp_path / "race")]
    assert exit_code(main, [*words, "--title", "Which one?", "--tables", str(tmp_path / "tables")]) == 0
    assert out.read_text(encoding="utf-8") == race_page(a_race(), "Which one?").html
    assert (tmp_path / "tables" / "way.svg").is_file()
    capsys.readouterr()
    assert exit_code(main, [*words, str(tmp_path / "other")]) == 2
    assert capsys.readouterr().err == "odqa eval: error: a race has a page of its own: name its directory alone\n"


@pytest.mark.needs("selenium")
def test_in_a_browser_tables_are_sorted_and_nothing_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "race.html", race_page(a_race()).html)
    with a_browser(tmp_path / "profile") as browser:
        browser.open((tmp_path / "race.html").as_uri())
        assert browser.texts("#raced tbody th") == ["cot", "direct", "ircot"]
        browser.click("#raced .sort", "EM")
        browser.click("#raced .sort", "EM")
        assert browser.texts("#raced tbody th") == ["ircot", "direct", "cot"]
        browser.open((tmp_path / "race.html").as_uri(), width=390, scheme="dark")
        assert browser.run("document.documentElement.scrollWidth <= innerWidth")
        assert browser.complaints() == []
