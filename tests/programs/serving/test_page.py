"""The page, in a real browser, over the real server."""

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.answers_server import TABLE, answering_with, serving
from support.browser import Browser, Keys, a_browser
from support.patience import PATIENCE
from support.races import a_race
from support.runs_on_disk import add_rows, begin_run, end_run, make_run
from support.scripted import Function, Slow, engine_lm

import lms
from eval.choosing.record import write_race
from eval.reports.html.served import run_routes
from lms.extractive import ExtractiveReader
from programs import load
from programs.instruments.state import save_state
from retrieval import Memory, Passage

pytestmark = pytest.mark.needs("uvicorn", "selenium")

QUESTION = "Who led the Italian troops at Adwa?"
HOSTILE = "<img src=x onerror=\"document.title='ran'\"><script>document.title='ran'</script>"
STATUS = "main > section:not([hidden]) > .status"
SHOWN = "document.querySelector('main > section:not([hidden]) > .status').textContent"


class Gate:
    """What LM calls wait at: all may pass, or some."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._allowed: float = math.inf

    def allow(self, calls: float) -> None:
        with self._turn:
            self._allowed = calls
            self._turn.notify_all()

    def wait(self) -> None:
        with self._turn:
            assert self._turn.wait_for(lambda: self._allowed > 0, PATIENCE)
            self._allowed -= 1

    @contextmanager
    def closed(self) -> Iterator[None]:
        self.allow(0)
        try:
            yield
        finally:
            self.allow(math.inf)


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    make_run(folder / "first", *[1.0] * 20, settings={"k": 3})
    make_run(folder / "second", *[0.0] * 20, settings={"k": 5})
    return folder


@pytest.fixture(scope="module")
def url(gate: Gate, runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    reader = ExtractiveReader()

    def reply(system: str, user: str) -> str:
        gate.wait()
        return reader.reply(system, user)

    compiled = load("direct")(TABLE)
    compiled.answer.signature = compiled.answer.signature.with_instructions("Be brief, and answer.")
    state = tmp_path_factory.mktemp("state") / "direct.json"
    save_state(compiled, state, {})
    methods = ("iter_retgen", "migres", "direct")
    answering = answering_with(engine_lm(Function(reply)), *methods, states={"direct": state})
    hostile = Passage("hostile", f"{HOSTILE} At Adwa \u202eGeneral Baratieri led the Italian troops.", HOSTILE)
    answering.retrievers["hostile"] = Memory([hostile, *TABLE.passages.values()])
    with serving(answering, run_routes(runs)) as url:
        yield url


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with a_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """No test leaves an error in the browser's log, and none loads anything but this server's files."""
    chromium.complaints()
    yield chromium
    assert chromium.complaints() == []
    origins = "[...new Set(performance.getEntriesByType('resource').map(({name}) => new URL(name).origin))]"
    assert chromium.run(origins) == [chromium.run("location.origin")]


def opened(browser: Browser, url: str, place: str = "", **look: object) -> None:
    browser.open(f"{url}/{place}", **look)  # type: ignore[arg-type]
    browser.wait("'ready' in document.documentElement.dataset")


def answered(browser: Browser, times: int = 1) -> None:
    browser.wait(f"{SHOWN}.split('Answered').length === 1 + arguments[0]", times)


def refused(browser: Browser, status: int) -> list[str]:
    """What the browser says of requests that were meant to be refused; it says nothing else."""
    complaints = browser.complaints()
    assert [complaint for complaint in complaints if f"status of {status}" not in complaint] == []
    return complaints


def test_steps_are_seen_as_they_happen_and_then_the_answer(browser: Browser, url: str, gate: Gate) -> None:
    opened(browser, url)
    with gate.closed():
        browser.write("#ask textarea", QUESTION)
        browser.click("#ask .primary")
        browser.wait("document.querySelectorAll('.step .passage').length === 3")
        assert browser.texts(".step h4") == ["Search 1"]
        assert browser.text(STATUS) == "Answering: 1 search so far"
        assert browser.texts(".answer-text") == []
        assert browser.text(".passage .title") == "Battle of Adwa"
        assert browser.run("document.querySelector('.passage a').href") == "https://example.org/menelik"
        assert browser.text(".passage .text") == "General Baratieri led the Italian troops at Adwa."
        gate.allow(1)
        browser.wait("document.querySelectorAll('.step .passages').length === 2")
        assert browser.texts(".step h4") == ["Search 1", "LM call: answer.predict", "Search 2"]
        assert browser.texts(".answer-text") == []
    answered(browser)
    assert browser.texts(".answer-text") == ["Baratieri"]
    assert browser.texts(".step h4") == [
        "Search 1", "LM call: answer.predict", "Search 2", "LM call: answer.predict", "Round 1", "Round 2",
    ]  # fmt: skip
    assert dict(zip(browser.texts(".cost dt"), browser.texts(".cost dd"), strict=True))["LM calls"] == "2"


def test_the_answer_is_seen_while_it_is_written(browser: Browser) -> None:
    engine = Slow(["[[ ## answer ## ]]", "\n", "General ", "Baratieri", "\n\n[[ ## completed ## ]]"])
    with serving(answering_with(engine_lm(engine), "direct")) as slow:
        opened(browser, slow)
        engine.allow(3)
        browser.write("#ask textarea", QUESTION + "\n")
        browser.wait("document.querySelector('.answer-text')?.textContent === 'General'")
        engine.allow(5)
        answered(browser)
        assert browser.texts(".answer-text") == ["General Baratieri"]


def test_what_was_dropped_is_struck_out_with_the_reason_and_statements_cite(browser: Browser, url: str) -> None:
    opened(browser, url, "#ask?question=Who+led+the+Italian+troops+at+Adwa%3F&method=migres&retriever=table&settings=")
    assert browser.count(".step") == 0  # a link asks nothing by itself
    browser.click("#ask .primary")
    answered(browser)
    assert browser.texts(".step [data-fate=dropped] .title") == ["Gateway Arch"]
    assert browser.texts(".step [data-fate=dropped] .why") == ["dropped in round 1"]
    line = "getComputedStyle(document.querySelector('[data-fate=dropped] .title')).textDecorationLine"
    assert browser.run(line) == "line-through"
    assert browser.texts(".step [data-fate=source] .badge") == ["says so"]
    assert browser.texts(".step [data-fate=shown] .title") == ["Menelik"]
    assert browser.texts(".statements li")[0] == "General Baratieri led the Italian troops at Adwa. [1]"
    assert browser.texts(".sources .title") == ["Battle of Adwa"]


def test_a_question_is_stopped_asked_again_and_shared(browser: Browser, url: str, gate: Gate) -> None:
    opened(browser, url)
    with gate.closed():
        browser.write("#ask textarea", QUESTION)
        browser.click("#ask .fold summary")
        browser.write("#ask input[type=number]", "2")
        browser.press(Keys.TAB)
        browser.click("#ask .primary")
        browser.wait("document.querySelectorAll('.step .passage').length === 2")
        browser.click("#ask button", "Stop")
        browser.wait(f"{SHOWN} === 'Stopped after 1 search'")
    browser.click("#ask button", "Ask again")
    answered(browser)
    shared = browser.run("location.href")
    opened(browser, url, "#" + shared.partition("#")[2])
    assert browser.run("document.querySelector('#ask textarea').value") == QUESTION
    assert browser.run("document.querySelector('#ask select').value") == "iter_retgen"
    assert browser.run("document.querySelector('#ask input[type=number]').value") == "2"
    assert browser.text("#ask .fold summary") == "Settings 1 changed"


def test_a_trace_is_downloaded(browser: Browser, url: str) -> None:
    opened(browser, url)
    browser.write("#ask textarea", QUESTION + "\n")
    answered(browser)
    browser.run("(URL.createObjectURL = (blob) => { window.saved = blob; return '#'; }) && 0")
    browser.click("button", "Download trace")
    saved = json.loads(browser.run("window.saved.text()"))
    assert (saved["answer"], saved["steps"][0]["text"]) == ("Baratieri", QUESTION)


def test_what_the_server_refuses_is_said(browser: Browser, url: str) -> None:
    opened(browser, url, "#ask?question=Who%3F&method=direct&retriever=table&settings=%7B%22k%22%3A0%7D")
    browser.click("#ask .primary")
    browser.wait("document.querySelector('.answer.failed')")
    assert "k must be at least 1" in browser.text(".answer.failed p")
    assert len(refused(browser, 400)) == 1


def test_methods_are_seen_side_by_side(browser: Browser, url: str) -> None:
    opened(browser, url, "#side")
    browser.click("button", "Add a third")
    browser.run(
        "[...document.querySelectorAll('.contestant')].forEach((box, place) => {"
        "  const [method, retriever] = box.querySelectorAll('select');"
        "  method.value = ['direct', 'migres', 'direct'][place]; method.dispatchEvent(new Event('change'));"
        "  retriever.value = ['table', 'table', 'hostile'][place]; })"
    )
    browser.write("#side textarea", QUESTION + "\n")
    browser.wait("document.querySelectorAll('#side .cost').length === 3")
    assert browser.texts(".column .answer-text") == ["Baratieri"] * 3
    assert browser.texts(".column .name") == ["A direct with table", "B migres with table", "C direct with hostile"]
    found = "[...document.querySelectorAll('.column')].map((side) => side.querySelectorAll('.step.query:first-child .passage').length)"  # noqa: E501
    assert browser.run(found) == [3, 3, 4]
    assert browser.texts(".column .only .title") == [HOSTILE]
    assert browser.texts(".shared") == [
        "All of them found 3 passages: Battle of Adwa, Menelik, Gateway Arch",
        f"C alone found 1 passage: {HOSTILE}",
    ]


def test_side_by_side_and_ask_begin_with_the_first_methods(browser: Browser, url: str) -> None:
    opened(browser, url, "#side")
    chosen = "[...document.querySelectorAll('.contestant')].map((box) => box.querySelector('select').value)"
    assert browser.run(chosen) == ["iter_retgen", "migres"]
    assert browser.run("document.querySelector('#ask select').value") == "iter_retgen"


def test_examples_are_those_of_the_chosen_retriever(browser: Browser, url: str) -> None:
    opened(browser, url)
    assert browser.texts("#ask .example") == []  # a search for anything finds nothing in so small a table
    with serving(
        answering_with(lms.load("extractive"), retriever=Memory([Passage("p", "A city of Italy", "Trieste")]))
    ) as own:
        opened(browser, own)
        assert browser.texts("#ask .example") == ["What is said about Trieste?"]
        retriever = "document.querySelectorAll('#ask select')[1]"
        browser.run(f"({retriever}.value = 'none', {retriever}.dispatchEvent(new Event('change')))")
        assert not browser.run("document.querySelector('#ask .examples').checkVisibility()")


@pytest.mark.parametrize(
    "place", ["#__proto__", "#constructor", "#runs?run=..%2F..", "#ask?method=__proto__&question=x"]
)
def test_an_odd_address_shows_a_view(browser: Browser, url: str, place: str) -> None:
    opened(browser, url, place)
    assert browser.count("main > section:not([hidden])") == 1
    if "runs" in place:
        browser.wait("document.querySelector('.board td')")


def test_the_progress_of_a_run_is_seen_and_two_clicks_compare(browser: Browser, url: str, runs: Path) -> None:
    store = begin_run(runs / "going", 4, task="other", questions="others")
    add_rows(store, 1)
    opened(browser, url, "#runs")
    browser.wait("document.querySelectorAll('tbody tr[data-run]').length === 3")
    assert browser.text("[data-run=going] .count") == "1 of 4"
    add_rows(store, 1, 0)
    browser.wait("document.querySelector('[data-run=going] .count').textContent === '3 of 4'")
    end_run(store, 1)
    browser.wait("!document.querySelector('[data-run=going] progress')")
    assert browser.text("[data-run=going] .scored").startswith("EM 75.0")
    browser.wait("document.querySelectorAll('.board').length === 2")  # the leaderboard has its task
    assert browser.texts(".board caption") == ["other 4 questions", "quiz 20 questions"]
    assert browser.count(".board .interval") == 3
    assert browser.texts(".board:last-of-type tbody th .quiet") == ["made/up · k 3", "made/up · k 5"]

    browser.click("[aria-label='Compare first']")
    browser.click("[aria-label='Compare second']")
    browser.wait("document.querySelector('#runs > p a')")
    assert browser.text("#runs > p a") == "Compare first with second"
    browser.click("[aria-label='Compare going']")
    assert browser.text("#runs > p a") == "Compare second with going"
    assert not browser.run("document.querySelector('[aria-label=\"Compare first\"]').checked")
    browser.click("[aria-label='Compare going']")
    browser.click("[aria-label='Compare first']")
    browser.open(browser.run("document.querySelector('#runs > p a').href"))
    browser.wait("'ready' in document.documentElement.dataset")
    assert browser.count("details.entry") == 20
    opened(browser, url)


def test_a_race_is_seen_while_it_is_under_way(browser: Browser, url: str, runs: Path) -> None:
    race = a_race(state="racing")
    (runs / "choose").mkdir()
    write_race(runs / "choose", race.model_copy(update={"looks": race.looks[:1], "drops": (), "recommended": None}))
    opened(browser, url, "#runs")
    browser.wait("document.querySelectorAll('[data-race=choose] tbody tr').length === 3")
    assert browser.text("[data-race=choose] p") == "under way, 10 of 20 questions were raced, for 124 LM calls"
    assert browser.texts("[data-race=choose] tbody th") == ["cot", "direct", "ircot"]
    browser.run("document.querySelector('[data-race=choose] tbody a').focus()")
    write_race(runs / "choose", race)
    browser.wait("document.querySelector('[data-race=choose]').textContent.includes('dropped after 20 questions')")
    assert browser.run("document.activeElement.getAttribute('aria-label')") == "Report: choose/runs/cot"
    write_race(runs / "choose", a_race())
    browser.wait("!document.querySelector('[data-race=choose] table')")
    assert browser.texts("[data-race=choose] p")[1] == "cot has the best score."
    browser.open(browser.run("document.querySelector('[data-race=choose] a').href"))
    assert browser.text("h1") == "Methods for quiz.csv"
    assert browser.complaints() == []
    opened(browser, url)


def test_prompts_are_shown_with_replies_and_as_they_were_before_compiling(browser: Browser, url: str) -> None:
    opened(browser, url)
    browser.write("#ask textarea", QUESTION + "\n")
    answered(browser)
    browser.click(".step.call summary")
    browser.wait("document.querySelector('.step.call [open] h5')")
    assert browser.texts(".step.call [open] h5") == ["system", "user", "reply"]
    assert QUESTION in browser.texts(".step.call [open] pre")[1]
    assert "Baratieri" in browser.texts(".step.call [open] pre")[2]
    browser.click("nav a", "Prompts")
    browser.run(
        "(() => { const select = document.querySelector('#prompts select');"
        "  select.value = 'direct'; select.dispatchEvent(new Event('change')); })()"
    )
    browser.wait("document.querySelectorAll('.predictor .state').length === 2")
    assert browser.texts(".predictor h4") == ["Before compiling", "As served"]
    before, served = browser.texts(".predictor pre")
    assert served == "Be brief, and answer."
    assert before != served


def test_hostile_text_stays_text(browser: Browser, url: str) -> None:
    opened(browser, url)
    title = browser.run("document.title")
    browser.run("document.querySelectorAll('#ask select')[1].value = 'hostile'")
    browser.write("#ask textarea", f"{QUESTION} {HOSTILE}\n")
    answered(browser)
    browser.click(".step.call summary")
    browser.wait("document.querySelector('.step.call [open] h5')")
    assert HOSTILE in browser.texts(".passage .title")
    assert HOSTILE in browser.text(".query-text")
    assert any("\\u202eGeneral" in text for text in browser.texts(".passage .text"))
    assert browser.count("main img, main script, main iframe") == 0
    assert browser.run("document.title") == title


def test_the_keyboard_is_enough(browser: Browser, url: str) -> None:
    opened(browser, url)

    def tab_to(condition: str) -> None:
        for _ in range(40):
            browser.press(Keys.TAB)
            shown = "getComputedStyle(document.activeElement).outlineStyle !== 'none'"
            assert browser.run(f"{shown} || document.activeElement.matches('summary')")
            if browser.run(f"document.activeElement.matches('{condition}')"):
                return
        raise AssertionError(f"the focus never comes to {condition}")

    tab_to(".skip")
    browser.press(Keys.ENTER)
    assert browser.run("document.activeElement.id") == "main"
    tab_to("#ask textarea")
    browser.press(QUESTION, Keys.ENTER)
    answered(browser)
    tab_to(".sources .title")
    browser.press(Keys.ENTER)
    assert browser.run("document.activeElement.getAttribute('aria-expanded')") == "true"
    browser.run("document.activeElement.blur()")
    browser.run("document.body.focus()")
    opened(browser, url)
    tab_to("nav a[data-view=side]")
    browser.press(Keys.ENTER)
    browser.wait("!document.querySelector('#side').hidden")
    tab_to("#side textarea")


def test_every_control_has_a_name_and_steps_are_told(browser: Browser, url: str) -> None:
    opened(browser, url)
    for view in ("side", "runs", "prompts", "ask"):
        browser.click(f"nav a[data-view={view}]")
        browser.wait(f"document.querySelector('[aria-current]').dataset.view === '{view}'")
        nameless = "[...document.querySelectorAll('button, input, select, textarea, a')].filter((e) => e.checkVisibility() && !(e.ariaLabel || e.innerText.trim() || e.labels?.length)).length"  # noqa: E501
        assert browser.run(nameless) == 0
    assert browser.run("document.querySelector('#ask > .status').role") == "status"


@pytest.mark.parametrize("place", ["#ask", "#side", "#runs", "#prompts"])
def test_a_phone_needs_no_scrolling_to_the_side(browser: Browser, url: str, place: str) -> None:
    opened(browser, url, place, width=390)
    if place in ("#ask", "#side"):
        browser.write(f"{place} textarea", f"{QUESTION} {'long' * 30}\n")
        browser.wait(f"document.querySelectorAll('{place} .cost').length >= {1 + (place == '#side')}")
    else:
        browser.wait("document.querySelector('.board td, .predictor')")
    assert browser.run("innerWidth") == 390
    assert browser.run("document.documentElement.scrollWidth") == 390


def test_light_and_dark_are_the_readers(browser: Browser, url: str) -> None:
    def light() -> float:
        colour = browser.run("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(", "))) / 3

    opened(browser, url)
    assert light() > 200
    browser.look(scheme="dark")
    assert light() < 60
    browser.click("#theme")
    assert light() > 200
    opened(browser, url, scheme="dark")
    assert light() > 200  # it is kept
    browser.click("#theme")
    browser.look(scheme="light")
    assert light() < 60
    browser.click("#theme")
    assert light() > 200


def test_where_there_is_no_language_model_it_is_said(browser: Browser, url: str) -> None:
    opened(browser, url)
    assert not browser.run("document.querySelector('#reader').checkVisibility()")
    with serving(answering_with(lms.load("extractive"), "direct")) as bare:
        opened(browser, bare)
        assert "No language model is behind this server" in browser.text("#reader")
        opened(browser, bare, "#runs")
        browser.wait("document.querySelector('#runs .empty h2')?.checkVisibility()")
        assert browser.text("#runs .empty h2") == "This server shows no runs"
        assert refused(browser, 404)


def test_a_token_is_asked_for_and_kept_in_this_tab_alone(browser: Browser, runs: Path) -> None:
    with serving(answering_with(lms.load("extractive"), "direct"), run_routes(runs), token="open-sesame") as guarded:
        browser.open(guarded)
        for token, said in (("wrong", "Whoever started the server has it."), ("open-sesame", "It was not accepted.")):
            browser.wait(f"document.querySelector('#token-why').textContent === '{said}'")
            browser.wait("document.querySelector('#token').open")
            browser.write("#token-value", token)
            browser.press(Keys.ENTER)
        browser.wait("'ready' in document.documentElement.dataset")
        assert len(refused(browser, 401)) == 2
        browser.write("#ask textarea", QUESTION + "\n")
        answered(browser)
        assert browser.run("Object.values(sessionStorage)") == ["open-sesame"]
        assert browser.run("document.cookie + Object.values(localStorage)") == ""
        browser.click("nav a", "Runs")
        browser.wait("document.querySelector('[data-run=first] td:last-child button')")  # a link would carry no token
        browser.run("(URL.createObjectURL = (blob) => { window.saved = blob; return '#'; }) && 0")
        browser.click("[data-run=first] td:last-child button")
        browser.wait("window.saved")
        assert "<title>reader on quiz</title>" in browser.run("window.saved.text()")


def test_a_report_runs_its_own_script_and_reaches_nothing_of_the_server(browser: Browser, url: str) -> None:
    browser.open(f"{url}/v1/runs/first/report")
    browser.wait("'ready' in document.documentElement.dataset")
    assert browser.run("self.origin") == "null"
    assert browser.count("details.entry") == 20
    opened(browser, url)
