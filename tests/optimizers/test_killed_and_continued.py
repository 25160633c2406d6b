"""`odqa optimize` over a provider that counts what it is paid for, killed while it compiles."""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.compiling import SETTINGS, recipes_but
from support.faulty_server import Provider
from support.learning_lm import EXAMPLES
from support.patience import eventually
from support.prompt_reading import wanted
from support.scripted import render

# Runs the command of each line it reads in a forked child: starting Python takes far longer. DSPy's cache is off,
# because it would have the replies too.
COMMANDS = """
import json, os, sys
import dspy
from optimizers.__main__ import main

dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.dup2(2, 1)
        code = 1
        try:
            main(json.loads(line))
        except SystemExit as end:
            code = end.code
        finally:
            os._exit(code)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
KILLS = 2
# Two of the others make no calls while they compile, one is part of another, and one is made of two others.
RECIPES = recipes_but("labeled_few_shot", "knn_few_shot", "bootstrap_few_shot", "combined")


def reply(prompt: str, before: int) -> str:
    """Right for half of the questions; instructions that differ from prompt to prompt."""
    said = {"module_advice": "{}", "reasoning": "So."}
    for n, example in enumerate(EXAMPLES):
        if example.question in prompt:
            said["answer"] = example.answer if n % 2 else "somewhere"
    return render({name: said.get(name, f"Answer in {len(prompt)} words.") for name in wanted(prompt)})


class Commands:
    """Runs `odqa optimize direct`, one at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, url: str, recipe: str, directory: Path) -> int:
        """Begin, or go on; the process's number."""
        questions = directory.parent / "questions.jsonl"
        questions.write_text("".join(json.dumps(dict(example.items())) + "\n" for example in EXAMPLES))
        settings = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in SETTINGS[recipe].items())
        words = (
            f"direct --task file:{questions} --train 6 --dev 4 --recipe {recipe} {settings} --threads 2 "
            f"--retriever none --lm openai/gpt-4o-mini --api-base {url} --run {directory} --out {directory}.json"
        )
        assert self._process.stdin
        print(json.dumps(words.split()), file=self._process.stdin, flush=True)
        return int(self._line())

    def ended(self) -> int:
        """Wait for its end; the exit status."""
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", COMMANDS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{root / 'tests'}:{root}", "OPENAI_API_KEY": "none"},
    ) as process:
        yield Commands(process)
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(reply).running() as provider:
        yield provider


def undisturbed(commands: Commands, provider: Provider, recipe: str, directory: Path) -> tuple[Counter[str], bytes]:
    """What an undisturbed run pays for, and its state file."""
    commands.start(provider.url, recipe, directory / "undisturbed")
    assert commands.ended() == 0
    paid, provider.paid = provider.paid, Counter()
    return paid, (directory / "undisturbed.json").read_bytes()


def ended_at(
    request: int, number: signal.Signals, commands: Commands, child: int, provider: Provider, run: Path
) -> int:
    """Answer nothing from this request on, signal the process once all that was answered before is on disk, and wait
    for its end; the exit status."""

    def kept() -> int:
        return sum(file.read_bytes().count(b"\n") for file in run.rglob("calls.jsonl"))

    provider.arrived = lambda number: number < request or provider.hold.set()
    eventually(lambda: provider.holds_all() and kept() == provider.paid.total())
    os.kill(child, number)
    status = commands.ended()
    provider.arrived = lambda number: None
    provider.hold.clear()
    return status


@pytest.mark.parametrize("recipe", RECIPES)
def test_killed_it_goes_on_pays_nothing_twice_and_writes_the_same_file(
    recipe: str, commands: Commands, provider: Provider, tmp_path: Path
) -> None:
    paid, state = undisturbed(commands, provider, recipe, tmp_path)
    choice = random.Random(recipe)
    for moment in sorted(choice.sample(range(1, paid.total()), KILLS)):
        request = provider.asked + max(1, moment - provider.paid.total())
        run = tmp_path / "killed"
        child = commands.start(provider.url, recipe, run)
        assert ended_at(request, signal.SIGKILL, commands, child, provider, run) == -signal.SIGKILL
    commands.start(provider.url, recipe, tmp_path / "killed")
    assert commands.ended() == 0
    assert provider.paid == paid
    assert (tmp_path / "killed.json").read_bytes() == state


def test_interrupted_it_ends_at_once_and_goes_on(commands: Commands, provider: Provider, tmp_path: Path) -> None:
    paid, state = undisturbed(commands, provider, "bootstrap_random_search", tmp_path)
    moment = provider.asked + paid.total() // 2
    run = tmp_path / "cut"
    child = commands.start(provider.url, "bootstrap_random_search", run)
    assert ended_at(moment, signal.SIGINT, commands, child, provider, run) == 130
    assert not (tmp_path / "cut.json").exists()
    commands.start(provider.url, "bootstrap_random_search", run)
    assert commands.ended() == 0
    assert provider.paid == paid
    assert (tmp_path / "cut.json").read_bytes() == state


@pytest.mark.slow
def test_a_provider_that_refuses_ends_it_with_exit_2_and_it_goes_on(
    commands: Commands, provider: Provider, tmp_path: Path
) -> None:
    paid, state = undisturbed(commands, provider, "copro", tmp_path)
    moment = provider.asked + paid.total() // 2
    provider.fault = lambda number: "401" if number > moment else None
    commands.start(provider.url, "copro", tmp_path / "cut")
    assert commands.ended() == 2
    provider.fault = lambda number: None
    commands.start(provider.url, "copro", tmp_path / "cut")
    assert commands.ended() == 0
    assert provider.paid == paid
    assert (tmp_path / "cut.json").read_bytes() == state
