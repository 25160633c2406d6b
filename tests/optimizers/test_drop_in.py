"""Our programs inside other people's DSPy programs, and our metrics on theirs; the page is docs/drop_in.md."""

import asyncio
import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.learning_lm import EXAMPLES, HELD_OUT, KEY, TABLE, TRAIN, LearningLM
from support.scripted import Function, engine_lm, render

import lms
from eval.metrics import em, recall_passages
from optimizers import explained, load
from programs.blendfilter import BlendFilter
from programs.instruments.state import save_state
from programs.migres import MIGRES

QUESTION = EXAMPLES[0].question


class Report(dspy.Module):
    """Somebody else's program with ours as a part."""

    def __init__(self) -> None:
        super().__init__()
        self.find = BlendFilter(TABLE, internal=False)
        self.word = dspy.Predict("question, answer -> title")

    def forward(self, question: str) -> dspy.Prediction:
        found = self.find(question=question)
        title = self.word(question=question, answer=found.answer).title
        return dspy.Prediction(answer=found.answer, title=title, passages=found.passages)


def test_as_a_sub_module_it_is_compiled_saved_and_loaded_with_the_rest(tmp_path: Path) -> None:
    program = Report()
    with dspy.context(lm=engine_lm(LearningLM("Person 1"))):
        compiled = load("bootstrap_few_shot")(program, TRAIN, metric=em)
        assert program(question=HELD_OUT[0].question).answer != HELD_OUT[0].answer
        compiled.save(tmp_path / "report.json")
        loaded = Report()
        loaded.load(tmp_path / "report.json")
        assert loaded(question=HELD_OUT[0].question).answer == HELD_OUT[0].answer
    assert {name: len(p.demos) for name, p in loaded.named_predictors()} == dict.fromkeys(
        ["find.draft.predict", "find.topic", "find.select.predict", "find.answer.predict", "word"], 1
    )


def test_as_a_tool_of_an_agent() -> None:
    tool = dspy.Tool(
        lambda question: BlendFilter(TABLE)(question=question).answer,
        name="look_up",
        desc="Answers a question from passages.",
        args={"question": {"type": "string"}},
    )
    learner = LearningLM("Person")

    def reply(system: str, user: str) -> str:
        if "next_tool_name" in system.partition("Your output fields are:")[2]:
            done = "[[ ## trajectory ## ]]" in user and "Lund" in user
            call = (
                {"next_tool_name": "finish", "next_tool_args": "{}"}
                if done
                else {
                    "next_tool_name": "look_up",
                    "next_tool_args": json.dumps({"question": QUESTION}),
                }
            )
            return render({"next_thought": "So.", **call})
        if "[[ ## trajectory ## ]]" in user:
            return render({"reasoning": "So.", "answer": "Lund" if "observation_0 ## ]]\nLund" in user else "?"})
        names = [line.split("`")[1] for line in system.splitlines() if line[:1].isdigit()]
        return render(learner.answered(names, user, shown=False))

    with dspy.context(lm=engine_lm(Function(reply))):
        seen = dspy.ReAct("question -> answer", tools=[tool])(question=QUESTION)
    assert seen.trajectory["observation_0"] == "Lund"
    assert seen.answer == "Lund"


def test_in_an_ensemble() -> None:
    programs = [BlendFilter(TABLE), BlendFilter(TABLE, filter="off"), MIGRES(TABLE)]
    with dspy.context(lm=engine_lm(LearningLM("Person"))):
        together = dspy.Ensemble(reduce_fn=partial(dspy.majority, field="answer")).compile(programs)
        assert together(question=QUESTION).answer == "Lund"


@pytest.mark.parametrize("kind", [BlendFilter, MIGRES])
def test_under_asyncify_and_awaited(kind: type[dspy.Module]) -> None:
    async def ask() -> list[str]:
        program = kind(TABLE)
        answers = await asyncio.gather(*(dspy.asyncify(program)(question=e.question) for e in HELD_OUT))
        return [answer.answer for answer in [*answers, await program.acall(question=QUESTION)]]

    with dspy.context(lm=engine_lm(LearningLM("Person"))):
        assert asyncio.run(ask()) == [*(e.answer for e in HELD_OUT), "Lund"]


def streamed(program: dspy.Module, *listeners: Any) -> list[Any]:
    async def ask() -> list[Any]:
        stream = dspy.streamify(program, stream_listeners=list(listeners))
        return [part async for part in stream(question=QUESTION)]

    with dspy.context(lm=lms.load("extractive").copy(cache=False)):
        return asyncio.run(ask())


def test_streamed() -> None:
    *chunks, last = streamed(MIGRES(TABLE))
    assert last.answer == "Lund"
    assert "Lund" in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def test_streamed_for_one_predictor_of_a_program_that_makes_calls_side_by_side() -> None:
    program = BlendFilter(TABLE)
    listener = dspy.streaming.StreamListener("answer", program.answer.predict, "answer.predict")
    *pieces, last = streamed(program, listener)
    assert "".join(piece.chunk for piece in pieces) == last.answer == "Lund"


IN_ANOTHER_PROCESS = """
import sys
import dspy
from support.learning_lm import HELD_OUT, TABLE, LearningLM
from support.scripted import engine_lm
from programs.instruments.state import load_state
from programs.blendfilter import BlendFilter

program = BlendFilter(TABLE)
with dspy.context(lm=engine_lm(LearningLM())):
    print(program(question=HELD_OUT[0].question).answer)
    load_state(program, sys.argv[1])
    print(program(question=HELD_OUT[0].question).answer)
"""


def test_saved_here_and_loaded_in_another_process(tmp_path: Path) -> None:
    program = BlendFilter(TABLE)
    program.answer.predict.signature = program.answer.predict.signature.with_instructions(KEY)
    save_state(program, tmp_path / "state.json", {})
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, str(tmp_path / "state.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    assert done.stdout.splitlines() == [f"It was {HELD_OUT[0].answer} , I think", HELD_OUT[0].answer]


class Theirs(dspy.Module):
    """A program of another project, that knows nothing of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.generate = dspy.ChainOfThought("context, question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        passages = TABLE(question, 3)
        answer = self.generate(context=[passage.text for passage in passages], question=question).answer
        return dspy.Prediction(answer=answer, passages=passages)


def test_a_program_of_another_project_is_compiled_with_our_metrics() -> None:
    def right(lm: dspy.LM, program: dspy.Module) -> float:
        with dspy.context(lm=lm):
            return float(dspy.Evaluate(devset=HELD_OUT, metric=em, num_threads=1)(program).score)

    learner = LearningLM()
    lm = engine_lm(learner)
    with dspy.context(lm=lm):
        optimizer = dspy.GEPA(metric=explained(em), max_metric_calls=18, reflection_lm=lm, num_threads=1)
        compiled = optimizer.compile(Theirs(), trainset=TRAIN[:3], valset=TRAIN[3:])
    assert (right(lm, Theirs()), right(lm, compiled)) == (0.0, 100.0)
    assert learner.taught
    assert recall_passages(HELD_OUT[0], compiled_run(lm, compiled)) == 1.0


def compiled_run(lm: dspy.LM, program: dspy.Module) -> dspy.Prediction:
    with dspy.context(lm=lm):
        return program(question=HELD_OUT[0].question)


@pytest.mark.slow
def test_the_code_in_the_documentation_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "drop_in.md").read_text(encoding="utf-8")
    pieces = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    elsewhere = [piece for piece in pieces if piece.startswith("# in another process")]
    here = [piece for piece in pieces if piece not in elsewhere]
    assert (len(here), len(elsewhere)) == (13, 1)
    for code in (here, [here[0], here[2], *elsewhere]):
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(code)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "ODQA_LM": "extractive"},
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stdout
    answers = done.stdout.splitlines()
    assert len(answers) == 2
    assert all(answers)
