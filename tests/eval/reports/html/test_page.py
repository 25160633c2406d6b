import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.scripted import Function, engine_lm, render

from eval.__main__ import main
from eval.figures.comparison import compare, read
from eval.figures.costs import costs
from eval.metrics import STANDARD
from eval.reports.html.drawing import Point, front, interval, scatter
from eval.reports.html.markup import Html, tag, visible
from eval.reports.html.page import page
from eval.reports.html.ways import ways
from eval.reports.text import cost_lines
from eval.runs.runner import evaluate
from eval.runs.store import read_passages
from programs.steps.ask import ask
from programs.steps.result import result
from retrieval import Memory, Passage, UsageError

HOSTILE = (
    "</script><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">"
    "<!--<svg onload=document.title='ran'>&lt;' \" ]]> \u202e evil \ud800 \x00\x1b[31m ${document.title='ran'}"
)
PASSAGES = [
    Passage("1", "Rome is the capital of Italy. It is old.", "Rome"),
    Passage("2", "Paris is big.", "Paris"),
    Passage("3", f"Passage {HOSTILE}", f"Title {HOSTILE}"),
]


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
            found={"q": ["1", "2", "3"]},
            kept={"q": ["1", "3"]},
            relevance={"1": 0.75, "2": 0.123456},
            note=HOSTILE,
        )


def reply(system: str, user: str) -> str:
    if "crash" in user:
        raise ConnectionError(f"cannot reach the server {HOSTILE}")
    if "mumble" in user:
        return "no fields"
    return render({"answer": "Rome" if "right" in user else f"Paris {HOSTILE}"})


def questions(*texts: str) -> list[dspy.Example]:
    return [
        dspy.Example(
            id=f"q{n}", question=text, answers=["Rome"], type="ab"[n % 2], gold_titles=["Rome", "Lima"]
        ).with_inputs("question")
        for n, text in enumerate(texts)
    ]


TEXTS = ("one right", f"two wrong {HOSTILE}", "three crash", "four mumble", "five right", "six wrong")


def make_run(directory: Path, *texts: str, lm: str = "some/model", **manifest: Any) -> str:
    manifest = {"task": "made up", "program": "reader", "lm": lm, "settings": {"k": 5}, **manifest}
    with dspy.context(lm=engine_lm(Function(reply))):
        evaluate(
            Reader(), questions(*texts), metrics=STANDARD, directory=directory, manifest=manifest, pause=0.0, threads=1
        )
    return str(directory)


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
def directory(tmp_path: Path) -> str:
    return make_run(tmp_path / "run", *TEXTS)


def test_the_figures_are_those_of_the_summary_and_of_the_costs(directory: str) -> None:
    summary = json.loads((Path(directory) / "summary.json").read_text())
    parsed = Parsed(page([directory]))
    assert parsed.table("run")[0][1:7] == [
        "6",
        "2",
        "3",
        "0",
        "1",
        "1",
    ]  # questions, right, wrong, –, failed, unparsable
    by_name = {"EM": "em", "F1": "f1", "titles found": "recall_passages", "titles kept": "recall_evidence"}
    lines = parsed.table("metric")
    assert [line[0] for line in lines] == list(by_name)
    for heading, score, interval_, _ in lines:
        figures = summary["total"]["scores"][by_name[heading]]
        assert score == f"{100 * figures['mean']:.1f}"
        assert interval_ == f"[{100 * figures['low']:.1f}, {100 * figures['high']:.1f}]"
    by_type = parsed.table("type", "n", "failed", "unparsable", "EM")
    for line in by_type:
        of_type = summary["by_type"][line[0]]
        assert line[1:5] == [
            *(str(of_type[name]) for name in ("n", "failed", "unparsable")),
            f"{100 * of_type['scores']['em']['mean']:.1f}",
        ]
    run = read(directory)
    head, *spent = cost_lines(costs(run.rows, run.manifest))
    assert parsed.table(*head) == spent
    for said in ("complete: 6 questions", "1 failed, the first with", "settings.k", "versions.dspy", "some/model"):
        assert said in parsed.text


def test_hostile_text_stays_text(directory: str) -> None:
    text = page([directory])
    parsed = Parsed(text)
    names = [name for name, _ in parsed.elements]
    assert names.count("script") == 2
    assert not {"img", "iframe", "object", "link", "base"} & set(names)
    assert not [
        key for _, attributes in parsed.elements for key in attributes if key.startswith("on") or key == "style"
    ]
    text.encode()  # no lone surrogate
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", text)
    policy = next(a["content"] for name, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    # What it links to is in the page.
    assert {a["href"][0] for _, a in parsed.elements if a.get("href")} == {"#"}
    assert not [a for _, a in parsed.elements if "src" in a]
    (wrong,) = (q for q in parsed.data["questions"] if q["id"] == "q1")
    assert wrong["question"] == f"two wrong {visible(HOSTILE)}"
    assert "\\u202e evil \\ud800 \\u0000\\u001b[31m" in wrong["question"]


def test_the_way_of_a_question(directory: str) -> None:
    data = Parsed(page([directory])).data
    (way,) = data["questions"][0]["ways"]

    def title(number: int) -> str:
        return str(data["passages"][number][1])

    assert [search["query"] for search in way["searches"]] == ["rome paris", "rome"]
    assert [[title(n)[:5] for n in search["found"]] for search in way["searches"]] == [
        ["Rome", "Paris", "Title"],
        ["Rome", "Title"],
    ]
    read_ = [(title(number)[:5], fate, gold, data["notes"][note]) for number, _, fate, gold, note in way["passages"]]
    assert read_ == [
        ("Rome", "extract", True, "q: kept; relevance: 0.75"),
        ("Paris", "dropped", False, "q: filtered out; relevance: 0.1235"),
        ("Title", "kept", False, "q: kept"),
    ]
    assert way["missing"] == ["Lima"]
    extract, whole, written = way["evidence"]
    assert (extract["text"], title(whole)[:5], written["id"]) == ("Rome is the capital of Italy.", "Title", "lm:1")
    assert [text for _, _, text in data["passages"][:2]] == [PASSAGES[0].text, PASSAGES[1].text]
    assert way["own"]["note"] == visible(HOSTILE)
    assert (way["answer"], way["cost"]["lm_calls"], way["cost"]["searches"]) == ("Rome", 1, 2)

    (failed,) = data["questions"][2]["ways"]
    assert "cannot reach the server </script>" in failed["error"]
    assert [fate for _, _, fate, _, _ in failed["passages"]] == ["found"] * 3
    assert [title(number)[:5] for number, *_ in failed["passages"]] == ["Rome", "Paris", "Title"]


def test_what_the_own_fields_of_programs_say_of_passages(tmp_path: Path) -> None:
    def notes(**own: Any) -> dict[str, tuple[str, str]]:
        passages = [{"id": id_, "title": id_.upper(), "score": 1.0} for id_ in "abcd"]
        prediction = {"answer": "x", "passages": passages, "evidence": own.pop("evidence", []), **own}
        run = read(directory)
        run.rows[:] = [{**run.rows[0], "prediction": prediction, "gold_titles": None}]
        data = ways([run], [{}])
        (way,) = data["questions"][0]["ways"]
        return {
            data["passages"][number][0]: (fate, data["notes"][note]) for number, _, fate, _, note in way["passages"]
        }

    directory = make_run(tmp_path / "run", "one right")
    turns = [
        {"retrieved": ["a", "b", "c"], "kept": ["a", "b"], "shown": ["a"], "facts": []},
        {"retrieved": ["b", "d"], "kept": ["b"], "shown": ["b"], "facts": []},
    ]
    assert notes(iterations=turns, known_facts=[{"fact": "f", "passages": ["a"]}]) == {
        "a": ("cited", "round 1: read; supports fact 1"),
        "b": ("dropped", "round 1: kept by the filter, not among those read; round 2: read"),
        "c": ("dropped", "round 1: filtered out"),
        "d": ("dropped", "round 2: filtered out"),
    }
    assert notes(
        retrieved=["b", "a", "c"],
        ranked=["a", "b", "c"],
        candidates={"a": "Rome"},
        evidence=[{"id": "a", "title": "A"}],
    ) == {
        "a": ("kept", "retrieved: 2 of 3; ranked: 1 of 3; candidates: Rome"),
        "b": ("dropped", "retrieved: 1 of 3; ranked: 2 of 3"),
        "c": ("dropped", "retrieved: 3 of 3; ranked: 3 of 3"),
        "d": ("dropped", "retrieved: not there; ranked: not there"),
    }
    assert notes(found=[["a", "b"], ["b"]])["b"] == ("dropped", "found: list 1; found: list 2")
    whole = notes(found={"q": ["a"], "union": ["b"]}, kept={"q": ["a"]}, unfiltered=["q"])
    assert (whole["a"][1], whole["b"][1]) == ("q: kept, as all: the selection was unparsable", "union: filtered out")
    assert notes(found=5, kept=None, iterations=["x"], known_facts={"y": 1}, ranked=[[1], {}])["a"] == (
        "dropped",
        "the program does not say why",
    )
    cited = notes(known_facts=[{"fact": "f", "passages": ["a"]}])
    assert (cited["a"], cited["b"]) == (("cited", "supports fact 1"), ("dropped", "supports no fact"))


def test_a_program_that_reports_nothing_but_an_answer(tmp_path: Path) -> None:
    class Plain(dspy.Module):
        def forward(self, question: str) -> dspy.Prediction:
            return dspy.Prediction(answer=True, passages=["text"], evidence="text", queries=None)

    evaluate(Plain(), questions("one"), metrics=STANDARD, directory=tmp_path / "run", manifest={})
    (way,) = Parsed(page([str(tmp_path / "run")])).data["questions"][0]["ways"]
    assert (way["answer"], way["passages"], way["evidence"], way["searches"]) == ("True", [], [], [])


def test_a_run_that_is_older_than_its_passages(directory: str) -> None:
    path = Path(directory)
    (path / "passages.jsonl").unlink()
    rows = [json.loads(line) for line in (path / "rows.jsonl").read_text().splitlines()]
    for row in rows:
        for name in ("searches", "gold_titles", "gold_passages"):
            del row[name]
    (path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["asked"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    parsed = Parsed(page([directory]))
    assert "complete: 6 questions" in parsed.text
    (way,) = parsed.data["questions"][0]["ways"]
    assert way["searches"] == [{"query": "rome paris"}, {"query": "rome"}]
    assert [fate for _, _, fate, _, _ in way["passages"]] == ["extract", "dropped", "kept"]
    assert parsed.data["passages"][0][2] is None


def test_texts_that_nobody_was_shown_are_left_out_where_there_are_too_many(
    directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eval.reports.html.ways._ROOM", len(PASSAGES[1].text) - 1)
    passages = Parsed(page([directory])).data["passages"]
    assert [len(passage) for passage in passages] == [3, 2, 3]  # gold, dropped, kept


@pytest.mark.parametrize(
    ("asked", "stopped", "summary", "said"),
    [
        (9, "the limit of 5 LM calls is reached", True, "6 of 9 questions; the limit of 5 LM calls is reached"),
        (9, None, True, "6 of 9 questions; it was interrupted"),
        (9, None, False, "6 of 9 questions; it was killed, or is under way"),
        (None, None, False, "6 questions; the run did not end, and how many there were to be is not known"),
    ],
)
def test_an_incomplete_run_says_so_and_why(
    asked: int | None, stopped: str | None, summary: bool, said: str, directory: str
) -> None:
    path = Path(directory)
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "asked": asked} if asked else {"task": "t"}))
    if summary:
        content = json.loads((path / "summary.json").read_text())
        (path / "summary.json").write_text(json.dumps({**content, "stopped": stopped}))
    else:
        (path / "summary.json").unlink()
    assert said in Parsed(page([directory])).text


def test_a_run_that_was_killed_before_its_first_row_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"task": "t", "program": "p", "asked": 3}))
    assert "0 of 3 questions; it was killed, or is under way" in Parsed(page([str(tmp_path)])).text


def test_a_comparison_has_the_figures_of_the_comparison(tmp_path: Path) -> None:
    first = make_run(tmp_path / "a", *TEXTS)
    second = make_run(tmp_path / "b", *TEXTS[:5], lm="oracle/perfect", settings={"k": 6})
    better = [json.loads(line) for line in (tmp_path / "b" / "rows.jsonl").read_text().splitlines()]
    better[1]["scores"]["em"] = 1.0
    (tmp_path / "b" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in better))
    with pytest.raises(UsageError, match="they cannot be compared"):
        page([first, make_run(tmp_path / "c", "another question", task="other")])
    comparison = compare([read(first), read(second)])
    parsed = Parsed(page([first, second]))
    assert len(parsed.data["questions"]) == 5
    assert [len(question["ways"]) for question in parsed.data["questions"]] == [2] * 5
    (em,) = (d for d in comparison.differences if d.metric == "em" and d.type is None)
    line = parsed.table("", "n", "difference")[0]
    assert line[0] == "R1 − R2"
    assert line[1:4] == ["5", f"{100 * em.mean:+.1f}", f"[{100 * em.low:+.1f}, {100 * em.high:+.1f}]"]
    assert line[5:] == [f"{em.p:.3f}", f"{em.p_corrected:.3f}"]
    assert parsed.table("run", "EM")[1][:2] == [
        "R2 reader, ceiling",
        f"{100 * comparison.runs[1].summary.total.scores['em'].mean:.1f}",
    ]
    for said in ("oracle/perfect = ceiling (oracle LM)", "k 6", "R1 1.", "△ ceiling (oracle LM)"):
        assert said in parsed.text


def test_the_best_of_several_attempts(tmp_path: Path) -> None:
    attempts = [make_run(tmp_path / name, *TEXTS) for name in "ab"]
    parsed = Parsed(page([",".join(attempts)]))
    assert "best of 2" in parsed.text
    (way,) = parsed.data["questions"][0]["ways"]
    assert (way["answer"], way["searches"], way["passages"], way["evidence"]) == (None, [], [], [])
    assert (way["scores"]["em"], way["cost"]["lm_calls"]) == (1.0, 2)
    assert "R2" in Parsed(page([",".join(attempts), make_run(tmp_path / "c", *TEXTS)])).text


def test_the_command(directory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def call(*arguments: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as ended:
            main(["report", *arguments])
        return ended.value.code, capsys.readouterr().err

    out = tmp_path / "report.html"
    out.write_text("an older one")
    assert call(directory, "--out", str(out)) == (0, f"report: {out}\n")
    assert out.read_text(encoding="utf-8") == page([directory])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "run"]
    for arguments, complaint in [
        ([str(tmp_path), "--out", str(out)], f"{tmp_path} holds no run: No such file or directory"),
        ([directory, "--out", str(tmp_path / "none" / "a.html")], "a.html: No such file or directory"),
        ([directory, "--out", f"{directory}/rows.jsonl"], "its name must end in .html"),
        ([directory, directory, "--out", str(out)], "one of the runs is named twice"),
        ([directory], "the following arguments are required: --out"),
    ]:
        code, errors = call(*arguments)
        assert (code, errors.count("\n")) == (2, 1)
        assert complaint in errors


# The run's side: passages.jsonl.


def test_passages_are_kept_once_and_their_file_is_taken_up(tmp_path: Path) -> None:
    def lines() -> list[dict[str, str]]:
        return [json.loads(line) for line in (tmp_path / "run" / "passages.jsonl").read_bytes().splitlines()]

    make_run(tmp_path / "run", *TEXTS)
    whole = [{"id": p.id, "title": p.title, "text": p.text} for p in PASSAGES]
    assert lines() == whole
    # Killed while it wrote the third passage, and before any row that has it.
    file = tmp_path / "run" / "passages.jsonl"
    file.write_bytes(file.read_bytes()[:-30])
    (tmp_path / "run" / "rows.jsonl").write_bytes(b"")
    assert list(read_passages(tmp_path / "run")) == ["1", "2"]
    make_run(tmp_path / "run", *TEXTS)
    assert lines() == whole
    assert read_passages(tmp_path / "run")["3"].text == PASSAGES[2].text  # with its lone surrogate

    file.write_bytes(b"[]\n")
    with pytest.raises(UsageError, match=r"passages\.jsonl is damaged"):
        make_run(tmp_path / "run", *TEXTS)


def test_another_text_of_the_same_id_stays_with_its_row(tmp_path: Path) -> None:
    class Two(dspy.Module):
        def forward(self, question: str) -> dspy.Prediction:
            found = [Passage("1", f"Text of {question}", "T")]
            return result(answer="Rome", queries=[], passages=found, evidence=found)

    evaluate(Two(), questions("one", "two"), metrics=STANDARD, directory=tmp_path / "run", manifest={}, threads=1)
    run = read(str(tmp_path / "run"))
    assert [row["prediction"]["passages"][0].get("text") for row in run.rows] == [None, "Text of two"]
    data = Parsed(page([run.name])).data
    texts = [data["passages"][q["ways"][0]["passages"][0][0]][2] for q in data["questions"]]
    assert texts == ["Text of one", "Text of two"]
    assert [q["ways"][0]["passages"][0][2] for q in data["questions"]] == ["kept", "kept"]


# What it is made from.


def test_markup_escapes_all_but_markup() -> None:
    assert tag("p", "<b>", Html("<b>"), None, 1, class_='a"b', hidden=True, id=None) == (
        '<p class="a&quot;b" hidden>&lt;b&gt;<b>1</p>'
    )
    assert tag("meta", name="x", http_equiv="<") == '<meta name="x" http-equiv="&lt;">'
    assert visible("a\x00\u202eb\nשלום\ud800") == "a\\u0000\\u202eb\nשלום\\ud800"


def test_the_front_has_what_no_other_point_beats() -> None:
    def point(name: str, cost: float, score: float) -> Point:
        return Point(name, "", cost, score, score, score)

    points = [
        point(*p) for p in [("a", 1, 0.2), ("b", 2, 0.2), ("c", 2, 0.5), ("d", 5, 0.4), ("e", 9, 0.9), ("f", 1, 0.1)]
    ]
    assert [p.name for p in front(points)] == ["a", "c", "e"]
    assert [p.name for p in front([*points, point("g", 9, 0.9)])] == ["a", "c", "e", "g"]
    assert front([]) == []


@pytest.mark.parametrize(
    "costs_",
    [[0.0], [0.0, 0.0], [1.0, 1000.0], [3.0], [1e-7, 1.0], [7.0, 7.0, 7.0], [0.1, 0.15], [5.0, 100.0]],
)
def test_every_mark_is_inside_of_the_drawing(costs_: list[float]) -> None:
    points = [Point(f"R{n}", "", cost, n / 10, 0.0, 1.0) for n, cost in enumerate(costs_)]
    drawn = Parsed(scatter(points, across="seconds", up="EM"))
    marks = [a for name, a in drawn.elements if name == "circle"]
    assert len(marks) == len(points)
    for mark in marks:
        assert 44 <= float(mark["cx"] or "") <= 362
        assert 12 <= float(mark["cy"] or "") <= 228


def test_an_interval_is_where_it_should_be() -> None:
    drawn = Parsed(interval(0.0, -0.5, 1.0, least=-1.0, most=1.0))
    (dot,) = (a for name, a in drawn.elements if name == "circle")
    (whisker,) = (a for _, a in drawn.elements if a.get("class") == "whisker")
    assert (dot["cx"], whisker["x1"], whisker["x2"]) == ("108.0", "57.0", "210.0")
    assert [a["class"] for _, a in drawn.elements if a.get("class") in ("grid", "zero")].index("zero") == 2


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
            "--enable-logging=stderr",
            "--virtual-time-budget=2000",
        ]
        command = [CHROMIUM, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"{file.as_uri()}{hash_}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, encoding="utf-8")
        return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)

    return dom


def test_in_a_browser_questions_open_and_nothing_hostile_runs(directory: str, tmp_path: Path, browser: Any) -> None:
    file = tmp_path / "page.html"
    text = page([directory, make_run(tmp_path / "other", *TEXTS)])
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
        "R1 ✗ wrong",
        "R2 ⚠ failed",
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


def test_in_a_browser_questions_are_filtered(directory: str, tmp_path: Path, browser: Any) -> None:
    choices = [
        {},
        {"outcome": "wrong"},
        {"outcome": "right"},
        {"outcome": "failed"},
        {"outcome": "unparsable"},
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
      }}).join(" ") + ", " + document.querySelectorAll(".by-metric:not([hidden])").length;
    """
    # The script that chooses is not the page's own: this copy is without the policy.
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page([directory]))
    file = tmp_path / "page.html"
    file.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    dom, console = browser(file)
    assert console == ""
    assert "<title>6 3 2 1 1 0 3 2 1 1 0, 1</title>" in dom
