import gzip
import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.records import a_row, a_run
from support.scripted import Function, engine_lm, render

from eval.metrics import em
from eval.records.run import Run
from eval.reports.html.questions import packed, questions
from eval.reports.html.shown_run import shown_runs
from eval.runs.runner import evaluate
from eval.runs.store import read
from programs.instruments.trace import Dropped, Found, Kept, Query, Trace

PASSAGES = [
    {"id": "1", "title": "Rome", "score": 1.23456, "text": "Rome is the capital of Italy. It is old."},
    {"id": "2", "title": "Paris", "text": "Paris is big."},
    {"id": "3", "title": "Nice", "text": "Nice is nice."},
    {"id": "4", "title": "Bonn", "text": "Bonn was a capital."},
]
STEPS = (
    Query(number=1, text="capitals"),
    Found(query=1, passages=("1", "2", "9")),
    Query(number=2, text="towns"),
    Found(query=2, passages=None),
    Kept(passage="1", form="extract", why="q: kept"),
    Dropped(passage="2", why="q: filtered out"),
    Kept(passage="3", form="whole", why="q: kept"),
    Kept(passage="4", form="cited", why=""),
)
EVIDENCE = [
    {"id": "1", "title": "Rome", "text": "Rome is the capital of Italy."},
    {"id": "3", "title": "Nice", "text": "Nice is nice."},
    {"id": "lm:1", "text": "What the LM wrote."},
]


def drawn(**fields: Any) -> dict[str, Any]:
    usual = {
        "prediction": {"answer": "Rome", "passages": PASSAGES, "evidence": EVIDENCE, "own": {"note": "x"}},
        "trace": Trace(steps=STEPS),
        "gold_titles": ["Rome", "Lima"],
        "scores": {"em": 1.0},
    }
    return questions(shown_runs([a_run("none", [a_row(**{**usual, **fields})])], None), ["em", "f1"])


def test_a_trace_is_drawn_with_names() -> None:
    data = drawn()
    (trace,) = data["questions"][0]["traces"]
    assert trace["searches"] == [{"query": "capitals", "found": [0, 1]}, {"query": "towns", "found": None}]
    assert trace["passages"] == [
        {"passage": 0, "fate": "extract", "why": 0, "gold": True, "score": 1.235},
        {"passage": 1, "fate": "dropped", "why": 1},
        {"passage": 2, "fate": "kept", "why": 0},
        {"passage": 3, "fate": "cited", "why": 2},
    ]
    assert data["reasons"] == ["q: kept", "q: filtered out", ""]
    assert trace["missing"] == ["Lima"]
    shown = [(piece["form"], data["passages"][piece["passage"]].get("text")) for piece in trace["evidence"]]
    assert shown == [
        ("extract", "Rome is the capital of Italy."),
        ("whole", "Nice is nice."),
        ("written", "What the LM wrote."),
    ]
    assert data["passages"][0] == {"id": "1", "title": "Rome", "text": PASSAGES[0]["text"]}
    assert (trace["answer"], trace["error"], trace["own"]) == ("Rome", None, {"note": "x"})
    assert trace["outcomes"] == ["right", "not scored"]  # by EM, and by F1, which this row does not have


def test_of_a_failed_question_there_is_what_was_found() -> None:
    steps = (Query(number=1, text="q"), Found(query=1, passages=("1", "2")))
    data = drawn(
        prediction=None, error="RuntimeError: late", trace=Trace(steps=steps), gold_titles=None, gold_passages=["2"]
    )
    (trace,) = data["questions"][0]["traces"]
    assert trace["error"] == "RuntimeError: late"
    assert [(entry["fate"], entry.get("gold")) for entry in trace["passages"]] == [("found", None), ("found", True)]
    assert data["passages"][0] == {"id": "1", "title": "", "text": None}  # the run does not have it
    assert trace["missing"] == []


def test_a_program_that_reports_nothing_but_an_answer() -> None:
    (trace,) = drawn(prediction={"answer": "Rome"}, trace=Trace())["questions"][0]["traces"]
    assert (trace["answer"], trace["passages"], trace["evidence"], trace["searches"]) == ("Rome", [], [], [])


def test_two_texts_of_one_id_stay_apart() -> None:
    found = [[{"id": "1", "title": "T", "text": text}] for text in ("One.", "Two.")]
    rows = [
        a_row(f"q{n}", prediction={"answer": "", "passages": each, "evidence": each}) for n, each in enumerate(found)
    ]
    data = questions(shown_runs([a_run("r", rows)], None))
    numbers = [question["traces"][0]["passages"][0]["passage"] for question in data["questions"]]
    assert [data["passages"][number]["text"] for number in numbers] == ["One.", "Two."]


def test_texts_that_nobody_was_shown_are_left_out_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.reports.html.questions._ROOM", len("Paris is big.") - 1)
    passages = drawn()["passages"]
    assert [passage["id"] for passage in passages if "text" not in passage] == ["2"]  # the one that was dropped


def test_only_questions_that_all_runs_asked() -> None:
    runs = [a_run("a", [a_row("1"), a_row("2")]), a_run("b", [a_row("2"), a_row("3")])]
    (question,) = questions(shown_runs(runs, None))["questions"]
    assert (question["id"], len(question["traces"])) == ("2", 2)


def test_evidence_that_is_not_among_the_listed_passages_is_drawn() -> None:
    made = drawn(prediction={"answer": "Rome", "passages": None, "evidence": [PASSAGES[2]]})
    (trace,) = made["questions"][0]["traces"]
    (shown,) = trace["evidence"]
    assert shown["form"] == "whole"
    assert made["passages"][shown["passage"]] == {"id": "3", "title": "Nice", "text": "Nice is nice."}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run of one question that is answered right and one that is answered wrong, with its calls."""
    lm = engine_lm(Function(lambda system, user: render({"answer": "Rome" if "one" in user else "Oslo \u202e"})))
    asked = {"one": "one", "two \ud800": "two"}
    examples = [dspy.Example(id=i, question=q, answers=["Rome"]).with_inputs("question") for i, q in asked.items()]
    with dspy.context(lm=lm):
        program = dspy.Predict("question -> answer")
        evaluate(program, examples, metrics=[em], directory=tmp_path / "run", manifest={}, threads=1)
    return read(tmp_path / "run")


def test_each_question_has_its_calls_of_each_run_packed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    two = "two \\ud800"  # as the page's data have it
    made = packed(shown_runs([run, run], None))
    assert list(made) == [two, "one"]  # those that are wrong come first
    first, second = json.loads(gzip.decompress(b64decode(made[two])))
    assert first == second
    (call,) = first
    assert [message["role"] for message in call["messages"]] == ["system", "user"]
    assert "[[ ## question ## ]]\ntwo" in call["messages"][1]["text"]
    assert "Oslo \\u202e" in call["reply"]

    of_two = packed(shown_runs([run], None))[two]
    monkeypatch.setattr("eval.reports.html.questions._ROOM_OF_CALLS", len(of_two) + 10)
    assert packed(shown_runs([run], None)) == {two: of_two}  # there is no room for the other one
