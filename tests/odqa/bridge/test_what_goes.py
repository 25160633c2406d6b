"""All works without what DSPy 3.4 announces to be removed in 3.5."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("uvicorn")

ROOT = Path(__file__).parents[3]

# Lazy imports of DSPy's own fail too, so no call takes a path that goes.
WITHOUT = """
import sys, warnings
import dspy
import dspy.clients.engines, dspy.clients.execution, dspy.clients.base_lm
for gone in ("legacy_outputs", "legacy_requests", "engines.legacy_engine", "_deprecation"):
    sys.modules["dspy.clients." + gone] = None
warnings.simplefilter("error", DeprecationWarning)
"""

METHODS = """
import importlib
import programs, retrieval, lms
from programs.instruments.cost import measured
retriever = retrieval.load("sample")
with dspy.context(lm=lms.load("extractive")):
    for name in programs.names():
        program = programs.load(name)(retriever)
        with measured() as cost:
            assert "answer" in program(question="Which club did Celtic beat in Lisbon in 1967?"), name
        assert cost.lm_calls, name
print("done")
"""

COMMANDS = {
    "eval": ["eval", "sample", "--program", "blendfilter", "--lm", "extractive", "--limit", "2", "--run", "{}/run"],
    "optimizers": [
        "optimizers", "cot", "--task", "sample", "--recipe", "bootstrap_few_shot", "--lm", "extractive", "--train", "4",
        "--dev", "2", "--run", "{}/runs", "--out", "{}/state.json",
    ],
}  # fmt: skip

COMMAND = """
import runpy
sys.argv = {arguments!r}
try:
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
except SystemExit as ended:
    assert not ended.code, ended.code
print("done")
"""

SERVER = """
import httpx
from support.answers_server import answering_with, running
from support.faulty_server import Provider
from support.scripted import render
with Provider(lambda prompt, before: render({"answer": "Eero Saarinen"})).running() as provider:
    lm = dspy.LM("openai/gpt-4o-mini", api_base=provider.url, api_key="none")
    with running(answering_with(lm)) as (_, url):
        asked = {"question": "Who designed the Gateway Arch?", "method": "direct"}
        answered = httpx.post(url + "/v1/answers", json=asked)
assert "Eero Saarinen" in answered.text, answered.text
print("done")
"""


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
    )


def test_every_method_answers(tmp_path: Path) -> None:
    done = run(METHODS, tmp_path)
    assert done.stdout.endswith("done\n"), done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_ends_well(name: str, tmp_path: Path) -> None:
    arguments = [argument.format(tmp_path) for argument in COMMANDS[name]]
    done = run(COMMAND.format(arguments=arguments), tmp_path)
    assert done.stdout.endswith("done\n"), done.stderr


def test_the_server_answers(tmp_path: Path) -> None:
    done = run(SERVER, tmp_path)
    assert done.stdout.endswith("done\n"), done.stderr
