import gzip
import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.scripted import Function, engine_lm, render

from eval.metrics import em
from eval.records.run import Run
from eval.reports.html.prompts import packed
from eval.reports.html.source import sources
from eval.runs.runner import evaluate
from eval.runs.store import read

TWO = "two \\ud800"  # as the page's data have it


@pytest.fixture
def run(tmp_path: Path) -> Run:
    lm = engine_lm(Function(lambda system, user: render({"answer": "Rome" if "one" in user else "Oslo \u202e"})))
    asked = {"one": "one", "two \ud800": "two"}
    examples = [dspy.Example(id=i, question=q, answers=["Rome"]).with_inputs("question") for i, q in asked.items()]
    with dspy.context(lm=lm):
        program = dspy.Predict("question -> answer")
        evaluate(program, examples, metrics=[em], directory=tmp_path / "run", manifest={}, threads=1)
    return read(tmp_path / "run")


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(b64decode(text)))


def test_each_question_has_its_calls_of_each_run(run: Run) -> None:
    made = packed(sources([run, run], None))
    assert list(made) == [TWO, "one"]  # those that are wrong come first
    first, second = unpacked(made[TWO])
    assert first == second
    (call,) = first
    assert [role for role, _ in call["prompt"]] == ["system", "user"]
    assert "[[ ## question ## ]]\ntwo" in call["prompt"][1][1]
    assert "Oslo \\u202e" in call["replies"][0]


def test_questions_for_which_there_is_no_room_are_left_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    of_two = packed(sources([run], None))[TWO]
    monkeypatch.setattr("eval.reports.html.prompts._ROOM", len(of_two) + 10)
    assert packed(sources([run], None)) == {TWO: of_two}
