import json
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.browser import a_browser
from support.patience import PATIENCE
from support.records import a_row, a_run
from support.scripted import Function, engine_lm, render

from eval.figures.comparison import best_of, compare
from eval.figures.costs import costs
from eval.figures.summary import summarise
from eval.metrics import STANDARD
from eval.records.run import Run
from eval.reports.formats import COST_COLUMNS, cost_lines
from eval.reports.html.page import page as make_page
from eval.reports.html.visible import visible
from eval.runs.runner import evaluate
from eval.runs.store import read
from programs.steps.ask import ask
from programs.steps.result import result
from retrieval import Memory, Passage

pytestmark = pytest.mark.needs("selenium")

HOSTILE = (
    "</script><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">"
    "<!--<svg onload=document.title='ran'>&lt;' \" ]]> \u202e evil \ud800 \x00\x1b[31m ${document.title='ran'}"
)
PASSAGES = [
    Passage("1", "Rome is the capital of Italy. It is old.", "Rome"),
    Passage("2", "Paris is big.", "Paris"),
    Passage("3", f"Passage {HOSTILE}", f"Title {HOSTILE}"),
]


def page(runs: Sequence[Run], **options: Any) -> str:
    return make_page(runs, **options).html


class Reader(dspy.Module):
    """Retrieves, drops the second passage, cuts the first one down and reads."""

    def __init__(self) -> None:
        super().__init__()
        self.retriever = Memory(PASSAGES, {"rome paris": "123", "rome": "13"})
        self.read = dspy.Predict("question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        found = self.retriever("rome paris", 5)
        self.retriever("rome", 5)
        reply = ask(self.read, question=question)
        shown = [Passage("1", "Rome is the capital of Italy.", "Rome"), found[2], Passage("lm:1", HOSTILE)]
        return result(
            answer=reply.answer,
            queries=["rome paris", "rome"],
            passages=found,
            evidence=shown,
            note=HOSTILE,
        )


def reply(system: str, user: str) -> str:
    if "crash" in user:
        raise ConnectionError(f"cannot reach the server {HOSTILE}")
    if "mumble" in user:
        return "{}"
    return render({"answer": "Rome" if "right" in user else f"Paris {HOSTILE}"})


def questions(*texts: str) -> list[dspy.Example]:
    return [
        dspy.Example(
            id=f"q{n}", question=text, answers=["Rome"], type="ab"[n % 2], gold_titles=["Rome", "Lima"]
        ).with_inputs("question")
        for n, text in enumerate(texts)
    ]


TEXTS = ("one right", f"two wrong {HOSTILE}", "three crash", "four mumble", "five right", "six wrong")


def make_run(directory: Path, *texts: str, lm: str = "some/model", **manifest: Any) -> Run:
    manifest = {"task": "made up", "program": "reader", "lm": lm, "settings": {"k": 5}, **manifest}
    with dspy.context(lm=engine_lm(Function(reply))):
        evaluate(
            Reader(), questions(*texts), metrics=STANDARD, directory=directory, manifest=manifest, pause=0.0, threads=1
        )
    return read(directory)


class Parsed(HTMLParser):
    """A page's tables as text, its elements, and what is in its script elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))
        if name not in ("meta", "input"):
            self._open.append(name)
        if name == "table":
            self.tables.append([])
        elif name == "tr":
            self.tables[-1].append([])
        elif name in ("td", "th"):
            self.tables[-1][-1].append("")
        elif name == "script":
            self.scripts.append("")

    def handle_endtag(self, name: str) -> None:
        assert self._open.pop() == name

    def handle_data(self, data: str) -> None:
        if "script" in self._open:
            self.scripts[-1] += data
        elif "style" not in self._open:
            self.text += data
            if {"td", "th"} & set(self._open):
                self.tables[-1][-1][-1] += data

    @property
    def data(self) -> Any:
        return json.loads(self.scripts[0])

    def table(self, *head: str) -> list[list[str]]:
        """The lines of the first table whose headings begin so."""
        return next(lines for first, *lines in self.tables if first[: len(head)] == list(head))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return make_run(tmp_path / "run", *TEXTS)


def test_the_figures_are_those_of_the_summary_and_of_the_costs(run: Run) -> None:
    summary = summarise(run.rows, len(run.rows), run.manifest)
    parsed = Parsed(page([run]))
    # questions, right, wrong, not scored, failed, unparsable
    assert parsed.table("run")[0][1:7] == ["6", "2", "3", "0", "1", "1"]
    assert parsed.table("why wrong") == [
        ["failed", "1 (16.7)"],
        ["unparsable", "1 (16.7)"],
        ["gold not found", "2 (33.3)"],
    ]
    by_name = {"EM": "em", "F1": "f1", "titles found": "recall_passages", "titles kept": "recall_evidence"}
    lines = parsed.table("metric")
    assert [line[0] for line in lines] == list(by_name)
    for heading, _, score, interval in lines:
        figures = summary.total.scores[by_name[heading]]
        assert score == f"{100 * figures.mean:.1f}"
        assert interval == f"[{100 * figures.low:.1f}, {100 * figures.high:.1f}]"
    by_type = parsed.table("type")
    assert [line[0] for line in by_type] == list(summary.by_type) == ["a", "b"]
    for line in by_type:
        of_type = summary.by_type[line[0]]
        counts = [str(of_type.n), str(of_type.failed), str(of_type.unparsable)]
        assert line[2:6] == [*counts, f"{100 * of_type.scores['em'].mean:.1f}"]
    expected = [[line.label, *line.cells] for line in cost_lines(costs(run.rows, run.manifest))]
    assert parsed.table("spent", *COST_COLUMNS) == expected
    for said in ("complete: 6 questions", "1 failed, the first with", "settings.k", "versions.dspy", "some/model"):
        assert said in parsed.text


def test_parts_of_a_cost_are_set_in(run: Run) -> None:
    text = page([run])
    assert '<th scope="row" class="part">read</th>' in text
    assert '<th scope="row">altogether</th>' in text


def test_hostile_text_stays_text(run: Run, tmp_path: Path) -> None:
    hostile = make_run(tmp_path / "other", *TEXTS, task=HOSTILE, program=HOSTILE, settings={HOSTILE: HOSTILE})
    for text in (page([run]), page([hostile]), page([run, a_copy(run, program=HOSTILE, settings={"k": HOSTILE})])):
        parsed = Parsed(text)
        names = [name for name, _ in parsed.elements]
        assert names.count("script") == 2
        assert not {"img", "iframe", "object", "link", "base"} & set(names)
        attributes = [key for _, attributes in parsed.elements for key in attributes]
        assert not [key for key in attributes if key.startswith("on") or key in ("style", "src")]
        text.encode()  # no lone surrogate
        assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", text)
        assert {a["href"][0] for _, a in parsed.elements if a.get("href")} == {"#"}  # all links stay in the page
        (wrong,) = (q for q in parsed.data["questions"] if q["id"] == "q1")
        assert wrong["question"] == f"two wrong {visible(HOSTILE)}"
        assert "\\u202e evil \\ud800 \\u0000\\u001b[31m" in wrong["question"]


def test_the_policy_allows_this_style_and_this_script_only(run: Run) -> None:
    text = page([run])
    policy = next(a["content"] for _, a in Parsed(text).elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    inside = {
        "style-src": text[text.index("<style>") + 7 : text.index("</style>")],
        "script-src": text[text.rindex("<script>") + 8 : text.rindex("</script>")],
    }
    for directive, content in inside.items():
        hash_ = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{hash_}';" in policy


def a_copy(run: Run, **manifest: Any) -> Run:
    """The run with a name and manifest of its own."""
    return replace(run, name=f"{run.name}-copy", manifest=run.manifest.model_copy(update=manifest))


def test_a_comparison_has_the_figures_of_the_comparison(run: Run, tmp_path: Path) -> None:
    second = make_run(tmp_path / "b", *TEXTS[:5], lm="oracle/perfect", settings={"k": 6})
    second.rows[1] = second.rows[1].model_copy(update={"scores": {**second.rows[1].scores, "em": 1.0}})
    comparison = compare([run, second])
    parsed = Parsed(page([run, second]))
    assert [len(question["traces"]) for question in parsed.data["questions"]] == [2] * 5
    (em,) = (d for d in comparison.differences if d.metric == "em" and d.type is None)
    line = next(table for table in parsed.tables if table[0][2:4] == ["n", "difference"])[1]
    assert line[0] == "reader model − reader ceiling"
    assert line[2:5] == ["5", f"{100 * em.mean:+.1f}", f"[{100 * em.low:+.1f}, {100 * em.high:+.1f}]"]
    assert line[5:] == [f"{em.p:.3f}", f"{em.p_corrected:.3f}"]
    mean = f"{100 * comparison.runs[1].summary.total.scores['em'].mean:.1f}"
    scores = next(table for table in parsed.tables if table[0][0] == "run" and table[0][2] == "EM")
    assert [scores[2][0].strip(), scores[2][2]] == ["reader ceiling", mean]
    unlike = {line[0]: line[1:] for line in parsed.table("setting", "reader model", "reader ceiling")}
    assert unlike["settings.k"] == ["5", "6"]
    assert "started" not in unlike
    for said in ("oracle/perfect = ceiling (oracle LM)", "k 6", "reader model 1."):
        assert said in parsed.text


def test_the_best_of_several_attempts(run: Run, tmp_path: Path) -> None:
    best = best_of([run, make_run(tmp_path / "b", *TEXTS)])
    parsed = Parsed(page([best]))
    assert "best of 2" in parsed.text
    assert parsed.data["runs"][0]["best_of"]
    (trace,) = parsed.data["questions"][0]["traces"]
    assert (trace["answer"], trace["searches"], trace["passages"], trace["evidence"]) == (None, [], [], [])
    assert (trace["scores"]["em"], trace["cost"]["lm_calls"]) == (1.0, 2)
    assert "reader best of 2 and reader are equal" in Parsed(page([best, make_run(tmp_path / "c", *TEXTS)])).text


def test_an_incomplete_run_says_so_and_why() -> None:
    run = a_run("r", [a_row()], {"asked": 3}, gap="the limit of 5 LM calls is reached")
    assert "incomplete: 1 of 3 questions; the limit of 5 LM calls is reached" in Parsed(page([run])).text


def test_a_run_without_a_row_has_a_page() -> None:
    run = a_run("r", [], {"asked": 3, "program": "p"}, gap="it was killed, or is under way")
    assert "0 of 3 questions; it was killed, or is under way" in Parsed(page([run])).text


def test_what_is_not_seen_is_written_out() -> None:
    assert visible("a\x00\u202eb\nשלום\ud800") == "a\\u0000\\u202eb\nשלום\\ud800"
    assert visible({"\x1b": ["\x7f", 1, None]}) == {"\\u001b": ["\\u007f", 1, None]}


# In a browser.

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def browser(tmp_path: Path) -> Any:
    if CHROMIUM is None:
        pytest.skip("there is no chromium here")

    def dom(file: Path, hash_: str = "") -> tuple[str, str]:
        """The page's elements after its script has run, and what the browser said."""
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            "--virtual-time-budget=2000",
        ]
        command = [CHROMIUM, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"{file.as_uri()}{hash_}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, encoding="utf-8")
        return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)

    return dom


def with_script(text: str, script: str, directory: Path) -> Path:
    """A copy of the page with a script that uses it. That one is not the page's own: the copy is without the policy."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    file = directory / "page.html"
    file.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    return file


def test_in_a_browser_questions_open_and_nothing_hostile_runs(run: Run, tmp_path: Path, browser: Any) -> None:
    file = tmp_path / "page.html"
    text = page([run, make_run(tmp_path / "other", *TEXTS)])
    file.write_text(text, encoding="utf-8")
    dom, console = browser(file, "#q=q1")
    assert console == ""  # no error, and nothing that the policy refused
    assert "data-ready=" in dom
    parsed = Parsed(dom)
    assert "<title>reader on made up</title>" in dom
    assert [name for name, _ in parsed.elements].count("script") == 2
    assert "img" not in [name for name, _ in parsed.elements]
    entries = [a for name, a in parsed.elements if name == "details" and a.get("class") == "entry"]
    assert len(entries) == 6
    assert ["open" in a for a in entries] == [False, True, False, False, False, False]
    for said in (
        "6 of 6 questions",
        "run ✗ wrong",
        "other ⚠ failed",
        "written by the LM",
        "found by no query",
        visible(HOSTILE),
    ):
        assert said in parsed.text

    # The page's policy holds for what would get past all that.
    file.write_text(
        text.replace("<main>", f"<main><script>document.title='ran'</script>{HOSTILE}").replace("\ud800", "")
    )
    dom, console = browser(file)
    assert "<title>reader on made up</title>" in dom
    assert "Content Security Policy" in console


def test_in_a_browser_questions_are_filtered(run: Run, tmp_path: Path, browser: Any) -> None:
    choices = [
        {},
        {"outcome": "wrong"},
        {"outcome": "right"},
        {"outcome": "failed"},
        {"outcome": "has unparsable replies"},
        {"outcome": "unparsable"},
        {"outcome": "gold not found"},
        {"outcome": "not scored"},
        {"type": "b"},
        {"type": "a", "outcome": "right"},
        {"text": "  CRASH "},
        {"text": "cannot reach"},
        {"metric": "recall_passages", "outcome": "right"},
    ]
    script = f"""
      document.title = {json.dumps(choices)}.map((choice) => {{
        get("controls").reset();
        for (const [id, value] of Object.entries({{metric: "em", ...choice}})) get(id).value = value;
        get("metric").dispatchEvent(new Event("change"));
        get("controls").dispatchEvent(new Event("input"));
        return get("list").childElementCount;
      }}).join(" ") + ", " + document.querySelectorAll(".by-metric:not([hidden])").length + ", " + get("type").length;
    """
    dom, console = browser(with_script(page([run]), script, tmp_path))
    assert console == ""
    assert "<title>6 3 2 1 1 1 2 0 3 2 1 1 0, 3, 3</title>" in dom


def test_in_a_browser_tables_are_sorted_filter_and_are_copied(run: Run, tmp_path: Path, browser: Any) -> None:
    second = make_run(tmp_path / "b", *TEXTS, lm="oracle/perfect")
    second.rows[1] = second.rows[1].model_copy(update={"scores": {**second.rows[1].scores, "em": 1.0}})
    script = """
      const seen = [];
      const lines = (id) => [...document.getElementById(id).tBodies[0].rows];
      const rows = (id) => lines(id).map((row) => row.cells[0].textContent.trim());
      const heads = document.querySelectorAll("#results-em thead button");
      for (const [n, what] of [[2, "most right"], [2, "fewest right"], [0, "by name"]]) {
        heads[n].click();
        seen.push(`${what}: ${rows("results-em")}, ${heads[n].closest("th").getAttribute("aria-sort")}`);
      }
      document.querySelectorAll("#costs-0 thead button")[3].click();
      seen.push(rows("costs-0").join("|"));
      document.querySelector("#reasons-em button[data-outcome='gold not found'][data-run='1']").click();
      seen.push(get("count").textContent);
      const copied = [];
      const clipboards = [async (text) => { copied.push(text); }, async () => { throw new Error(); }];
      const buttons = document.querySelectorAll("[data-take=results-em] button");
      (async () => {
        for (const [n, writeText] of clipboards.entries()) {
          Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true });
          buttons[n].click();
          await new Promise((resolve) => setTimeout(resolve));
        }
        const { md, tex } = data.files["results-em"];
        seen.push(copied[0] === md, document.querySelector("textarea").value === tex);
        const links = [];
        HTMLAnchorElement.prototype.click = function () { links.push(`${this.download} ${this.href.slice(0, 5)}`); };
        document.querySelector("[data-take=scores-em] button[data-kind=svg]").click();
        document.title = [...seen, ...links].join("; ");
      })();
    """
    dom, console = browser(with_script(page([run, second]), script, tmp_path))
    assert console == ""
    expected = [
        "most right: reader ceiling,reader model, descending",
        "fewest right: reader model,reader ceiling, ascending",
        "by name: reader ceiling,reader model, ascending",
        "per question of 6|read|altogether|paid in this run",
        "1 of 6 questions",
        "true; true; scores-em.svg blob:",
    ]
    assert f"<title>{'; '.join(expected)}</title>" in dom


def test_in_a_browser_prompts_and_replies_are_unpacked_as_text(run: Run, tmp_path: Path, browser: Any) -> None:
    script = """
      const show = (what) => { for (const each of document.querySelectorAll(what)) each.open = true; };
      entry_of(entries[1]).open = true;
      setTimeout(() => {
        const folded = [...document.querySelectorAll(".trace details")];
        folded.find((each) => each.textContent.startsWith("LM calls")).open = true;
      });
      new MutationObserver(() => show(".calls details")).observe(document.documentElement, { attributes: true });
    """
    dom, console = browser(with_script(page([run]), script, tmp_path))
    assert console == ""
    parsed = Parsed(dom)
    assert re.search(r"1\. read.*system.*user.*two wrong < /script>.*reply.*Paris </script>", parsed.text, re.DOTALL)
    assert "img" not in [name for name, _ in parsed.elements]
    assert '"prompts":null' in page([run], prompts=False)


def test_in_a_narrow_window_the_plots_of_intervals_are_seen_whole(run: Run, tmp_path: Path) -> None:
    second = make_run(tmp_path / "b", *TEXTS, lm="oracle/perfect")
    (tmp_path / "page.html").write_text(page([run, second]).encode("utf-8", "replace").decode(), encoding="utf-8")
    plots = "[...document.querySelectorAll('td svg.interval')].filter((e) => e.getClientRects().length)"
    with a_browser(tmp_path / "profile") as narrow:
        narrow.open(f"file://{tmp_path}/page.html", width=420)
        assert narrow.run(f"{plots}.length") > 6
        assert narrow.run(f"Math.max(...{plots}.map((e) => e.getBoundingClientRect().right)) <= window.innerWidth")
