"""The reader as an LM: in programs, called asynchronously, saved, and in another process."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable

import dspy
import pytest
from dspy.clients.base_lm import BaseLM
from support.lighthouse import CONTEXT

from lms.extractive import ExtractiveReader, extractive_lm


def test_demonstrations_change_nothing(lm: dspy.LM) -> None:
    program = dspy.ChainOfThought("context, question -> answer")
    asked = {"context": CONTEXT, "question": "Who directed The Lighthouse Keeper?"}
    plain = program(**asked)
    program.predict.demos = [
        dspy.Example(context="[1] A | a", question="Who is it?", reasoning="r", answer="Somebody Else"),
        dspy.Example(question="Where is it?", answer="Elsewhere"),
    ]
    assert program(**asked).toDict() == plain.toDict()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "Ada Quill " * 100_000, "The " * 200_000, "[1] A | b. C\n" * 5_000, "." * 500_000]
)
def test_huge_inputs_are_read(text: str) -> None:
    with dspy.context(lm=extractive_lm()):
        for asked in ({"context": text, "question": "Who is Ada?"}, {"context": CONTEXT, "question": text}):
            assert dspy.Predict("context, question -> answer, relevant: list[int], topic")(**asked).answer is not None


def test_asynchronous_calls_give_the_same() -> None:
    program = dspy.ChainOfThought("context, question -> answer")
    asked = {"context": CONTEXT, "question": "Who directed The Lighthouse Keeper?"}
    with dspy.context(lm=extractive_lm()):
        assert asyncio.run(program.acall(**asked)).toDict() == program(**asked).toDict()


def test_a_saved_reader_loads() -> None:
    state = json.loads(json.dumps(extractive_lm().dump_state()))
    again = BaseLM.load_state(state, allow_custom_lm_class=True)
    assert isinstance(again.engine, ExtractiveReader)
    assert again("Is the Orm a river?") == [""]


@pytest.mark.slow
def test_replies_do_not_depend_on_the_process() -> None:
    asked = {"context": CONTEXT, "question": "Where was the director of The Lighthouse Keeper born?"}
    code = (
        "import dspy, json, sys; from lms.extractive import extractive_lm; dspy.configure(lm=extractive_lm());"
        "read = dspy.Predict('context, question -> reasoning, p: float, queries: list[str]');"
        "print(read(**json.load(sys.stdin)).toDict())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], input=json.dumps(asked), env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(outputs) == 1


def add(a: int, b: int) -> int:
    """Adds numbers."""
    return a + b


def look_up(question: str) -> str:
    """Answers a question."""
    return "Kirkkonummi" if question.endswith("?") else ""


@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter()])
@pytest.mark.parametrize(
    ("tools", "answer"), [([look_up], "Kirkkonummi"), ([look_up, add], "Kirkkonummi"), ([add], "0")]
)
def test_an_agent_of_dspy_calls_a_tool_with_arguments_and_ends_on_what_it_says(
    adapter: dspy.Adapter, tools: list[Callable[..., object]], answer: str
) -> None:
    agent = dspy.ReAct("question -> answer", tools=tools, max_iters=3)
    with dspy.context(lm=extractive_lm(), adapter=adapter):
        done = agent(question="Where was the designer of the Gateway Arch born?")
    assert done.answer == answer
    assert done.trajectory["tool_name_1"] == "finish"
    assert "tool_name_2" not in done.trajectory
