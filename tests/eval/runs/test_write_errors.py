"""A run whose files cannot be written: it stops, pays for nothing twice, and ends as if it had been left in peace."""

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.faulty_server import Provider
from support.scripted import render

from eval.metrics import em
from eval.runs.runner import evaluate
from odqa import files
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


class Failing:
    """Opens files whose writes are counted, over all of them; one fails, when it has written a part or nothing."""

    def __init__(self, fails: int, part: bool) -> None:
        self.fails, self.part, self.writes = fails, part, 0

    def open(self, path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        file = io.open(path, mode, *args, **kwargs)  # noqa: SIM115, UP020
        if "a" not in mode and "w" not in mode:
            return file
        write = file.write

        def counted(content: bytes) -> int:
            self.writes += 1
            if self.writes == self.fails:
                if self.part:
                    write(content[: len(content) // 2])
                raise OSError(errno.EIO, "Input/output error")
            return write(content)

        class Counted:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *_: object) -> None:
                file.close()

            def __getattr__(self, name: str) -> Any:
                return counted if name == "write" else getattr(file, name)

        return Counted()


@pytest.mark.parametrize("part", [False, True])
def test_one_write_that_fails_stops_the_run_and_costs_nothing(
    part: bool, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed_summary = run(tmp_path / "undisturbed", provider.url)
    undisturbed = provider.paid.copy()
    assert undisturbed.total() == 3 * QUESTIONS
    for number in count(1):
        provider.paid.clear()
        directory, failing = tmp_path / str(number), Failing(number, part)
        with monkeypatch.context() as patched:
            patched.setattr(files, "open", failing.open, raising=False)
            patched.setattr(Path, "open", lambda path, *args, **kwargs: failing.open(path, *args, **kwargs))  # noqa: B023
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


def test_a_file_that_may_not_grow_ends_the_run_with_what_to_do(provider: Provider, tmp_path: Path) -> None:
    with_limit = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
import test_write_errors
from retrieval import UsageError
try:
    test_write_errors.run(Path(sys.argv[1]), sys.argv[2])
except UsageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", with_limit, tmp_path / "run", provider.url],
        env={**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{Path(__file__).parents[2]}"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
    )
    assert "calls.jsonl: File too large; make room and start again" in done.stdout, done.stderr
    paid = provider.paid.total()
    assert 0 < paid < 3 * QUESTIONS
    assert run(tmp_path / "run", provider.url).complete
    assert provider.paid.total() <= 3 * QUESTIONS + 1  # the reply that found no room is lost with its process
