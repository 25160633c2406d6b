"""`odqa.load`: an answerer file as a program."""

import asyncio
import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dspy
import pytest
from support.answerers import written
from support.faulty_server import Provider
from support.patience import PATIENCE
from support.scripted import Function, engine_lm, render

import odqa
from programs.direct import Direct
from programs.instruments.adapters import load_adapter
from programs.instruments.answerer import Answerer, write_answerer
from programs.instruments.state import save_state
from retrieval import Memory, Passage

QUESTION = "Which general led the Italian troops at Adwa?"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(lambda prompt, before: json.dumps({"answer": "Baratieri"})).running() as provider:
        yield provider


def an_lm(answer: str, told: list[str]) -> dspy.LM:
    """An LM of one answer, which appends what it is told."""

    def reply(system: str, user: str) -> str:
        told.append(user)
        return render({"answer": answer})

    return engine_lm(Function(reply))


def test_the_program_asks_its_own_lm_in_its_own_form_whatever_is_configured(provider: Provider, tmp_path: Path) -> None:
    program = odqa.load(written(tmp_path, provider))
    assert isinstance(program, Direct)
    with dspy.context(lm=dspy.LM("openai/never-asked", api_base="http://127.0.0.1:9"), adapter=load_adapter("chat")):
        found = program(question=QUESTION)
        assert asyncio.run(copy.deepcopy(program).acall(question=QUESTION)).answer == "Baratieri"
    assert (found.answer, len(found.passages)) == ("Baratieri", 1)
    asked, again = provider.bodies
    assert (asked["model"], asked["temperature"]) == ("made-up", 0.25)
    assert "JSON" in json.dumps(asked["messages"])
    assert asked["messages"] == again["messages"]


def test_its_lm_its_form_and_its_retriever_can_be_others(provider: Provider, tmp_path: Path) -> None:
    path = written(tmp_path, provider, lm="gguf:not-there.gguf", retriever="bm25:not-there")
    told: list[str] = []
    table = Memory([Passage("menelik", "Menelik led the Ethiopian troops at Adwa.")])
    program = odqa.load(path, lm=an_lm("Menelik", told), retriever=table)
    program.adapter = None
    assert program(question=QUESTION).answer == "Menelik"
    assert "Menelik led the Ethiopian troops" in told[0]
    assert "[[ ## answer ## ]]" in told[0]
    program.set_lm(None)
    with dspy.context(lm=an_lm("Nobody", told)):
        assert program(question=QUESTION).answer == "Nobody"


def test_a_compiled_state_comes_with_it(provider: Provider, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    compiled = Direct(Memory([]))
    compiled.answer.demos = [dspy.Example(context="[1] A", question="Which letter?", answer="A")]
    with dspy.context(adapter=load_adapter("json")):
        save_state(compiled, tmp_path / "compiled.json", {})
    path = written(tmp_path, provider)
    write_answerer(path, Answerer(program="direct", adapter="json"), state=tmp_path / "compiled.json")
    program = odqa.load(path, lm=an_lm("A", []))
    assert program.answer.demos[0]["question"] == "Which letter?"
    assert not caplog.records  # it is asked under the adapter that it was compiled with


def test_the_ground_floor_imports_no_room_before_it_is_asked_to() -> None:
    code = "import odqa, sys; odqa.load; print(sorted({'dspy', 'lms', 'programs', 'retrieval'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout == "[]\n"
