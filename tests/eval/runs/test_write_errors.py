"""A run whose files cannot be written: it stops, pays for nothing twice, and ends as if it had been left in peace."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.counted_writes import CountedWrites
from support.faulty_server import Provider
from support.scripted import render

from eval.metrics import em
from eval.runs.runner import evaluate
from eval.runs.store import read
from programs.steps.ask import ask
from programs.steps.side_by_side import side_by_side
from retrieval import Memory, Passage, UsageError

pytestmark = pytest.mark.leaves_sockets
QUESTIONS = 3
TABLE = Memory([Passage(str(n), f"Passage {n} of question {n}.") for n in range(QUESTIONS)])


class ThreeCalls(dspy.Module):
    """A search, one call, and two side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.draft = dspy.Predict("question -> answer")
        self.check = dspy.Predict("question, side -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        found = TABLE(question, 2)
        said = [ask(self.draft, question=question).answer]
        said += [
            p.answer for p in side_by_side(*(lambda s=s: ask(self.check, question=question, side=s) for s in "ab"))
        ]
        return dspy.Prediction(answer="Rome", passages=found, evidence=found, said=said)


def run(directory: Path, url: str) -> Any:
    lm = dspy.LM("openai/gpt-4o-mini", api_base=url, api_key="none", cache=False)
    asked = [
        dspy.Example(id=f"q{n}", question=f"Question {n}?", answers=["Rome"]).with_inputs("question")
        for n in range(QUESTIONS)
    ]
    with dspy.context(lm=lm):
        return evaluate(
            ThreeCalls(), asked, metrics=[em], directory=directory, manifest={}, threads=1, lm_calls=1, retries=0
        )


def rows(directory: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (directory / "rows.jsonl").read_bytes().splitlines()]
    for row in found:
        del row["cost"]["seconds"]
    return sorted(found, key=lambda row: row["id"])


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(lambda prompt, before: render({"answer": f"reply {before}"})).running() as provider:
        yield provider


@pytest.mark.slow
@pytest.mark.parametrize("part", [False, True])
def test_one_write_that_fails_stops_the_run_and_costs_nothing(
    part: bool, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed_summary = run(tmp_path / "undisturbed", provider.url)
    undisturbed = provider.paid.copy()
    assert undisturbed.total() == 3 * QUESTIONS

    def fail(write: Callable[[bytes], int], content: bytes) -> int:
        if part:
            write(content[: len(content) // 2])
        raise OSError(errno.EIO, "Input/output error")

    for number in count(1):
        provider.paid.clear()
        directory, failing = tmp_path / str(number), CountedWrites(number, fail)
        with monkeypatch.context() as patched:
            failing.watch(patched)
            try:
                run(directory, provider.url)
            except UsageError as error:
                said = str(error)
            else:
                break  # there was no such write
        assert "cannot" in said
        assert "Input/output error" in said
        summary = run(directory, provider.url)
        assert provider.paid == undisturbed, number
        assert rows(directory) == rows(tmp_path / "undisturbed"), number
        assert (summary.complete, summary.total.scores) == (True, undisturbed_summary.total.scores)
    assert failing.writes == number - 1 > 4 * QUESTIONS  # every call and row, the manifest, the passages


@pytest.mark.slow
def test_files_that_may_not_grow_end_the_command_with_what_to_do_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(json.dumps({"question": f"{n}?", "answers": ["Rome"]}) + "\n" for n in range(12)))
    with Provider(lambda prompt, before: render({"answer": f"Rome {before}" + " x" * 100_000})).running() as provider:
        words = f"{questions} --program direct --retriever none --lm openai/gpt-4o-mini --api-base {provider.url}"
        flags = f"--adapter chat --threads 4 --run {tmp_path / 'run'}"

        def asked(limit: str) -> subprocess.CompletedProcess[str]:
            command = f"ulimit -f {limit}; exec {sys.executable} -m odqa eval {words} {flags}"
            environment = {**os.environ, "OPENAI_API_KEY": "none"}
            return subprocess.run(["/bin/sh", "-c", command], env=environment, capture_output=True, text=True)

        # Blocks of 512 bytes: 5 MiB, room for about five of the replies beyond what is kept free.
        stopped = asked(str(5 * 2**11))
        assert stopped.returncode == 2, stopped.stderr
        said = f"cannot write to {tmp_path / 'run' / 'calls.jsonl'}: File too large; make room and start again"
        assert stopped.stderr.splitlines()[-1] == f"odqa eval: error: {said}"
        assert 0 < provider.paid.total() < 12
        assert asked("unlimited").returncode == 0
        assert (provider.paid.total(), len(provider.paid)) == (12, 12)
        assert len(read(tmp_path / "run").rows) == 12
