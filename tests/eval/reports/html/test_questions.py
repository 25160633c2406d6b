from pathlib import Path
from typing import Any

import dspy
import pytest
from support.records import a_row, a_run

from eval.metrics import STANDARD
from eval.reports.html.questions import Questions, questions
from eval.reports.html.source import sources
from eval.runs.runner import evaluate
from eval.runs.store import read
from programs.instruments.trace import Dropped, Found, Kept, Query, Trace
from programs.steps.result import result
from retrieval import Passage

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


def drawn(**fields: Any) -> Questions:
    usual = {
        "prediction": {"answer": "Rome", "passages": PASSAGES, "evidence": EVIDENCE, "own": {"note": "x"}},
        "trace": Trace(steps=STEPS),
        "gold_titles": ["Rome", "Lima"],
        "scores": {"em": 1.0},
    }
    return questions(sources([a_run("none", [a_row(**{**usual, **fields})])], None), ["em", "f1"])


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


def test_a_program_that_reports_nothing_but_an_answer(tmp_path: Path) -> None:
    class Plain(dspy.Module):
        def forward(self, question: str) -> dspy.Prediction:
            return dspy.Prediction(answer="Rome", passages=["text"], evidence="text", queries=None)

    example = dspy.Example(id="q", question="one", answers=["Rome"]).with_inputs("question")
    evaluate(Plain(), [example], metrics=STANDARD, directory=tmp_path / "run", manifest={})
    (trace,) = questions(sources([read(tmp_path / "run")], None))["questions"][0]["traces"]
    assert (trace["answer"], trace["passages"], trace["evidence"], trace["searches"]) == ("Rome", [], [], [])


def test_two_texts_of_one_id_stay_apart(tmp_path: Path) -> None:
    class Two(dspy.Module):
        def forward(self, question: str) -> dspy.Prediction:
            found = [Passage("1", f"Text of {question}", "T")]
            return result(answer="Rome", queries=[], passages=found, evidence=found)

    examples = [dspy.Example(id=q, question=q, answers=["Rome"]).with_inputs("question") for q in ("one", "two")]
    evaluate(Two(), examples, metrics=STANDARD, directory=tmp_path / "run", manifest={}, threads=1)
    data = questions(sources([read(tmp_path / "run")], None))
    entries = [question["traces"][0]["passages"][0] for question in data["questions"]]
    assert [data["passages"][entry["passage"]].get("text") for entry in entries] == ["Text of one", "Text of two"]
    assert [entry["fate"] for entry in entries] == ["kept", "kept"]


def test_texts_that_nobody_was_shown_are_left_out_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eval.reports.html.questions._ROOM", len("Paris is big.") - 1)
    passages = drawn()["passages"]
    assert [passage["id"] for passage in passages if "text" not in passage] == ["2"]  # the one that was dropped


def test_only_questions_that_all_runs_asked() -> None:
    runs = [a_run("a", [a_row("1"), a_row("2")]), a_run("b", [a_row("2"), a_row("3")])]
    (question,) = questions(sources(runs, None))["questions"]
    assert (question["id"], len(question["traces"])) == ("2", 2)


def test_evidence_that_is_not_among_the_listed_passages_is_drawn() -> None:
    made = drawn(prediction={"answer": "Rome", "passages": None, "evidence": [PASSAGES[2]]})
    (trace,) = made["questions"][0]["traces"]
    (shown,) = trace["evidence"]
    assert shown["form"] == "whole"
    assert made["passages"][shown["passage"]] == {"id": "3", "title": "Nice", "text": "Nice is nice."}
