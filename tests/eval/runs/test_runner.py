import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import dspy
import pytest
from support.patience import PATIENCE
from support.scripted import Function, engine_lm, render

from eval.figures.summary import Figures
from eval.metrics import STANDARD, em, f1, recall_passages
from eval.records.record import Prediction, Row, Shown
from eval.runs.runner import evaluate
from eval.runs.store import read
from programs.instruments.trace import Found, Query
from programs.steps.ask import ask
from programs.steps.result import result
from retrieval import Memory, Passage, UsageError

PASSAGES = [Passage("1", "Rome is the capital of Italy.", "Rome"), Passage("2", "Paris is big.", "Paris")]


def questions(*texts: str, **fields: Any) -> list[dspy.Example]:
    return [
        dspy.Example(id=f"q{n}", question=text, answers=["Rome"], **fields).with_inputs("question")
        for n, text in enumerate(texts)
    ]


def rows(directory: Path) -> dict[str, Row]:
    lines = (directory / "rows.jsonl").read_bytes().splitlines(keepends=True)
    assert all(line.endswith(b"\n") for line in lines)
    found = read(directory).rows
    assert len(found) == len(lines)
    return {row.id: row for row in found}


def means(figures: Figures) -> dict[str, tuple[float, int]]:
    return {name: (score.mean, score.n) for name, score in figures.scores.items()}


class Answer(dspy.Module):
    """Any module that answers: by a plain function."""

    def __init__(self, answer: Callable[[str], Any]) -> None:
        super().__init__()
        self.of = answer
        self.asked: list[str] = []

    def forward(self, question: str) -> Any:
        self.asked.append(question)
        answer = self.of(question)
        return answer if isinstance(answer, dspy.Prediction) else dspy.Prediction(answer=answer)


class Reader(dspy.Module):
    """Retrieves and reads with an LM, as the methods do."""

    def __init__(self) -> None:
        super().__init__()
        self.retriever = Memory(PASSAGES)
        self.read = dspy.Predict("context, question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        found = self.retriever(question, 5)
        reply = ask(self.read, context="", question=question)
        shown = [*found[:1], Passage("lm:1", "written", "")]
        return result(
            answer=reply.answer, queries=[question], passages=found, evidence=shown, note=("\ud800", found[0])
        )


@pytest.mark.parametrize(("parallel", "at_once"), [(None, 8), (1, 1), (2, 2)])
def test_as_many_questions_are_asked_at_once_as_a_local_model_computes(
    tmp_path: Path, parallel: int | None, at_once: int
) -> None:
    here: set[int] = set()
    all_here = threading.Barrier(at_once, timeout=PATIENCE)  # as many threads as that meet at the first questions

    def answer(question: str) -> str:
        if threading.get_ident() not in here:
            here.add(threading.get_ident())
            all_here.wait()
        return "Rome"

    lm = engine_lm(Function(lambda system, user: "{}"))
    if parallel:
        vars(lm.engine)["parallel"] = parallel
    with dspy.context(lm=lm):
        evaluate(Answer(answer), questions(*map(str, range(24))), metrics=[em], directory=tmp_path)
    assert len(here) == at_once


def test_failed_unparsable_wrong_and_right_are_told_apart(tmp_path: Path) -> None:
    def reply(system: str, user: str) -> str:
        if "crash" in user:
            raise ConnectionError("cannot reach http://me:secret@host/v1?key=secret\n(me:secret@host)")
        return "{}" if "mumble" in user else render({"answer": "Paris" if "wrong" in user else "Rome"})

    asked = questions("rome crash", "rome mumble", "rome wrong", "rome right")
    asked = [dspy.Example(e, gold_titles=["Rome"], type="t" if n else None) for n, e in enumerate(asked)]
    with dspy.context(lm=engine_lm(Function(reply))):
        summary = evaluate(Reader(), asked, metrics=STANDARD, directory=tmp_path / "run", threads=3, pause=0.0)
    crashed, mumbled, wrong, right = (rows(tmp_path / "run")[f"q{n}"] for n in range(4))

    assert str(crashed.error).endswith("cannot reach http://***@host/v1?*** (***@host)")  # at the third try
    assert crashed.prediction is None
    assert crashed.scores == {"em": None, "f1": None, "recall_passages": None, "recall_evidence": None}
    assert (crashed.cost.lm_calls, crashed.cost.searches) == (1, 1)  # what it cost, it cost

    scores = {"em": 0.0, "f1": 0.0, "recall_passages": 1.0, "recall_evidence": 1.0}
    assert (mumbled.error, mumbled.cost.unparsable, mumbled.scores) == (None, 1, scores)
    assert (wrong.error, wrong.cost.unparsable, wrong.scores) == (None, 0, scores)
    assert right.scores == {**scores, "em": 1.0, "f1": 1.0}

    assert (summary.complete, summary.total.n, summary.total.failed, summary.total.unparsable) == (True, 4, 1, 1)
    assert means(summary.total)["em"] == (1 / 4, 4)
    assert means(summary.total)["recall_passages"] == (3 / 4, 4)
    assert summary.total.cost["lm_calls"] == (1 + 2 + 1 + 1) / 4
    assert means(summary.by_type["t"])["em"] == (1 / 3, 3)
    assert summary.first_error == str(crashed.error)


def test_the_row_of_a_question_says_the_status_that_the_servers_own_words_leave_out(tmp_path: Path) -> None:
    def reply(system: str, user: str) -> str:
        error = dspy.LMError("no")
        error.status = 999
        raise error

    with dspy.context(lm=engine_lm(Function(reply))):
        evaluate(Reader(), questions("rome"), metrics=[em], directory=tmp_path / "run", retries=0)
    assert str(rows(tmp_path / "run")["q0"].error).endswith("no (HTTP status 999)")


def test_a_row_keeps_what_led_to_the_answer(tmp_path: Path) -> None:
    lm = engine_lm(Function(lambda system, user: render({"answer": "Rome"})))
    with dspy.context(lm=lm):
        evaluate(Reader(), questions("rome paris", type="bridge"), metrics=[em], directory=tmp_path)
    (row,) = rows(tmp_path).values()
    rome, paris = Shown(id="1", title="Rome", score=1.0), Shown(id="2", title="Paris", score=1.0)
    assert row.prediction == Prediction(
        answer="Rome",
        queries=("rome paris",),
        passages=(rome, paris),  # their texts are in passages.jsonl
        evidence=(rome, Shown(id="lm:1", text="written")),
        own={"note": ["\ud800", {"id": "1", "title": "Rome", "score": 1.0}]},  # a lone surrogate survives
    )
    assert read(tmp_path).passages() == {passage.id: passage for passage in PASSAGES}
    assert (row.question, row.answers, row.type) == ("rome paris", ("Rome",), "bridge")
    assert row.trace.steps[:2] == (Query(number=1, text="rome paris"), Found(query=1, passages=("1", "2")))
    assert (row.cost.lm_calls, row.cost.searches, row.cost.input_tokens, row.cost.output_tokens) == (1, 1, 10, 2)


def test_any_module_and_what_json_cannot_hold(tmp_path: Path) -> None:
    strange = {("a", 1): {float("nan"), 2}, "lm": object, "nested": dspy.Prediction(x=1)}
    program = Answer(lambda question: dspy.Prediction(answer=True, strange=strange, evidence="text"))
    (example,) = questions("one", gold_titles=["Rome"])
    summary = evaluate(program, [dspy.Example(example, answers=["yes"])], metrics=STANDARD, directory=tmp_path)
    (row,) = rows(tmp_path).values()
    assert (row.prediction.answer, row.scores, row.error) == ("yes", {"em": 1.0, "f1": 1.0}, None)
    assert set(summary.total.scores) == {"em", "f1"}  # a program without passages has no recall, and not one of 0


def test_failed_questions_do_not_give_a_program_without_passages_a_recall_of_0(tmp_path: Path) -> None:
    def answer(question: str) -> str:
        return "Rome" if question == "right" else [][0]

    asked = questions("right", "crash", gold_titles=["Rome"])
    summary = evaluate(Answer(answer), asked, metrics=STANDARD, directory=tmp_path)
    assert means(summary.total) == {"em": (1 / 2, 2), "f1": (1 / 2, 2)}


def test_a_question_that_a_metric_is_undefined_for_is_not_in_its_mean(tmp_path: Path) -> None:
    asked = [*questions("a"), dspy.Example(id="x", question="b", gold_titles=["T"]).with_inputs("question")]
    program = Answer(lambda question: dspy.Prediction(answer="Rome", passages=[Passage("1", "", "T")]))
    summary = evaluate(program, asked, metrics=[em, recall_passages], directory=tmp_path)
    assert means(summary.total) == {"em": (1.0, 1), "recall_passages": (1.0, 1)}


def test_a_program_without_an_answer_fails_in_words(tmp_path: Path) -> None:
    for number, prediction in enumerate([dspy.Prediction(response="Rome"), dspy.Prediction()]):
        program = Answer(lambda question, prediction=prediction: prediction)
        summary = evaluate(program, questions("a"), metrics=[em], directory=tmp_path / str(number))
        assert summary.first_error.startswith("UsageError: the program returned no prediction with an answer")


def test_a_run_whose_first_questions_all_fail_stops(tmp_path: Path) -> None:
    program = Answer(lambda question: [][0])
    summary = evaluate(program, questions(*map(str, range(100))), metrics=[em], directory=tmp_path, threads=4)
    assert not summary.complete
    assert 10 <= summary.total.n == summary.total.failed == len(rows(tmp_path)) < 20
    assert means(summary.total) == {"em": (0.0, summary.total.n)}


def test_one_answer_among_the_first_and_a_run_goes_on(tmp_path: Path) -> None:
    program = Answer(lambda question: "Rome" if question == "5" else [][0])
    summary = evaluate(program, questions(*map(str, range(30))), metrics=[em], directory=tmp_path, threads=1)
    assert (summary.complete, summary.total.failed) == (True, 29)


def test_a_metric_that_always_fails_is_no_failed_question(tmp_path: Path) -> None:
    def broken(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> float:
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        evaluate(Answer(lambda q: "Rome"), questions("a", "b"), metrics=[broken], directory=tmp_path, threads=2)
    assert json.loads((tmp_path / "summary.json").read_text())["complete"] is False


def test_questions_are_asked_once_and_side_by_side(tmp_path: Path) -> None:
    together = threading.Barrier(3, timeout=PATIENCE)
    program = Answer(lambda question: f"Rome {together.wait() * 0}")
    evaluate(program, questions("a", "b", "c"), metrics=[em], directory=tmp_path, threads=3)
    assert sorted(program.asked) == ["a", "b", "c"]


def test_rows_are_read_in_the_order_of_the_questions(tmp_path: Path) -> None:
    ended = threading.Event()

    def answer(question: str) -> str:
        assert question == "b" or ended.wait(PATIENCE)
        return "Rome"

    asked = questions("a", "b")
    evaluate(Answer(answer), asked, metrics=[em], directory=tmp_path, threads=2, on_row=lambda row: ended.set())
    written = [json.loads(line)["id"] for line in (tmp_path / "rows.jsonl").read_bytes().splitlines()]
    assert (written, list(rows(tmp_path))) == (["q1", "q0"], ["q0", "q1"])


def test_rows_are_on_disk_when_they_are_reported(tmp_path: Path) -> None:
    seen: list[str] = []

    def on_row(row: dict[str, Any]) -> None:
        assert row.id in rows(tmp_path)
        seen.append(row.id)

    evaluate(Answer(lambda q: "Rome"), questions(*"abcdefgh"), metrics=[em], directory=tmp_path, on_row=on_row)
    assert sorted(seen) == [f"q{n}" for n in range(8)]


def test_a_run_is_taken_up_where_it_stopped(tmp_path: Path) -> None:
    asked = questions(*"abcde")
    first = Answer(lambda question: [][0] if question in "bd" else "Rome")
    before = evaluate(first, asked, metrics=[em], directory=tmp_path, manifest={"k": 5}, threads=1)
    assert (before.total.failed, before.total.scores["em"].mean) == (2, 3 / 5)
    file = tmp_path / "rows.jsonl"
    file.write_bytes(file.read_bytes()[:-20])  # killed while it wrote the last row, that of e

    second, reported = Answer(lambda question: "Rome"), []
    after = evaluate(second, asked, metrics=[em], directory=tmp_path, manifest={"k": 5}, on_row=reported.append)
    assert sorted(second.asked) == ["b", "d", "e"]
    assert (after.complete, after.total.n, means(after.total)["em"]) == (True, 5, (1.0, 5))
    assert set(rows(tmp_path)) == {row.id for row in reported} == {f"q{n}" for n in range(5)}
    assert after.manifest == before.manifest
    assert after.manifest.entries() == json.loads((tmp_path / "manifest.json").read_text())
    assert json.loads((tmp_path / "summary.json").read_text())["total"]["n"] == 5

    third = Answer(lambda question: "Rome")
    assert evaluate(third, asked, metrics=[em], directory=tmp_path, manifest={"k": 5}) == after
    assert third.asked == []


def test_another_run_is_not_mixed_in(tmp_path: Path) -> None:
    program, asked = Answer(lambda question: "Rome"), questions(*"ab")
    evaluate(program, asked, metrics=[em], directory=tmp_path, manifest={"k": 5, "lm": "x"})
    before = (tmp_path / "rows.jsonl").read_bytes()
    for changes, named in [
        ({"manifest": {"k": 6, "lm": "y"}}, "different k, lm;"),
        ({"manifest": {"k": 5, "lm": "x"}, "metrics": [em, f1]}, "different metrics;"),
        ({"manifest": {"k": 5, "lm": "x"}, "examples": asked[:1]}, "different questions;"),
        ({"manifest": None}, "holds a run already"),
    ]:
        with pytest.raises(UsageError, match=named):
            evaluate(program, **{"examples": asked, "metrics": [em], "directory": tmp_path, **changes})
    assert (tmp_path / "rows.jsonl").read_bytes() == before


def test_directories_that_cannot_be_used(tmp_path: Path) -> None:
    program, asked = Answer(lambda question: "Rome"), questions("a")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    (tmp_path / "file").write_text("")
    evaluate(program, asked, metrics=[em], directory=tmp_path / "damaged", manifest={})
    (tmp_path / "damaged" / "rows.jsonl").write_text("{}\n")
    for name, complaint in {
        "other": "holds other files than a run's",
        "file": "cannot use the directory .*: File exists",
        "file/below": "cannot use the directory .*: Not a directory",
        "damaged": "rows.jsonl, line 1 is damaged: ",
    }.items():
        with pytest.raises(UsageError, match=complaint):
            evaluate(program, asked, metrics=[em], directory=tmp_path / name, manifest={})


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"threads": 0}, "threads must be at least 1, not 0"),
        ({"examples": [dspy.Example(question="a").with_inputs("question")]}, "every question needs an id$"),
        ({"examples": questions("a") * 2}, "every question needs its own id, but several have 'q0'"),
        ({"examples": []}, "there are no questions"),
    ],
)
def test_arguments_that_cannot_be_used(tmp_path: Path, arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        evaluate(
            Answer(lambda question: "Rome"),
            **{"examples": questions("a"), "metrics": [em], "directory": tmp_path, **arguments},
        )
    assert not list(tmp_path.iterdir())


def test_an_interrupt_may_come_while_threads_are_started(tmp_path: Path) -> None:
    asked = questions("a", "b")

    def in_filelock(frame: FrameType | None) -> bool:
        """Whether this step is of a lock, which an interrupt would leave held for all later tests of the process."""
        return frame is not None and ("filelock" in frame.f_code.co_filename or in_filelock(frame.f_back))

    def interrupted_before(number: int) -> bool:
        """Whether the main thread has so many steps in Python's own code of threads."""
        steps = count(1)

        def step(frame: FrameType, event: str, argument: object) -> Any:
            if event == "line" and next(steps) == number:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
            return step if frame.f_code.co_filename == threading.__file__ and not in_filelock(frame) else None

        sys.settrace(step)
        try:
            evaluate(Answer(lambda question: "Rome"), asked, metrics=[em], directory=tmp_path / str(number), threads=2)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    assert next(number for number in count(1, 3) if not interrupted_before(number)) > 20


# A run in a process of its own. The questions of `blocked` are answered when the file `go` is there.
RUN = """
import os, sys, time
from pathlib import Path
import dspy
from eval.metrics import em
from eval.runs.runner import evaluate
from retrieval import Memory, Passage
from odqa.console import run

directory, threads, names, blocked = sys.argv[1:]
go = Path(directory).with_name("go")

class Program(dspy.Module):
    def forward(self, question):
        found = Memory([Passage(f"of {name}", "text", name) for name in names])(question)
        os.write(1, (question + "\\n").encode())
        while question in blocked and not go.exists():
            time.sleep(0.01)
        return dspy.Prediction(answer="Rome", passages=found)

examples = [dspy.Example(id=n, question=n, answers=["Rome"]).with_inputs("question") for n in names]
run("prog", lambda: evaluate(
    Program(), examples, metrics=[em], directory=directory, manifest={"run": 1}, threads=int(threads)))
"""


@contextmanager
def started(directory: Path, threads: int, names: str, blocked: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(directory), str(threads), names, blocked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_rows(directory: Path, count: int) -> None:
    while not (directory / "rows.jsonl").exists() or (directory / "rows.jsonl").read_bytes().count(b"\n") < count:
        time.sleep(0.01)


@pytest.mark.slow
def test_rows_survive_a_kill_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with started(directory, 3, "abcdef", "ce") as process:
        wait_for_rows(directory, 4)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert set(rows(directory)) == set("abdf")
    assert {f"of {name}" for name in "abdf"} <= set(read(directory).passages())
    assert not (directory / "summary.json").exists()
    (tmp_path / "go").touch()
    with started(directory, 3, "abcdef", "ce") as process:
        output, errors = process.communicate()
    assert (process.returncode, errors, set(output.split())) == (0, "", set("ce"))
    assert set(rows(directory)) == set("abcdef")
    kept = [json.loads(line)["id"] for line in (directory / "passages.jsonl").read_bytes().splitlines()]
    assert sorted(kept) == [f"of {name}" for name in "abcdef"]
    assert json.loads((directory / "summary.json").read_text())["complete"] is True


def test_an_interrupt_finishes_what_is_in_flight(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with started(directory, 2, "abcdef", "cdef") as process:
        wait_for_rows(directory, 2)
        assert {process.stdout.readline().strip() for _ in range(4)} == set("abcd")
        process.send_signal(signal.SIGINT)
        assert any("finishing 2 questions" in line for line in process.stderr)
        (tmp_path / "go").touch()
        process.wait()
    assert process.returncode == 130
    assert set(rows(directory)) == set("abcd")
    summary = json.loads((directory / "summary.json").read_text())
    assert (summary["complete"], summary["questions"], summary["total"]["n"]) == (False, 6, 4)


def test_an_interrupt_of_one_thread_finishes_its_question(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    with started(directory, 1, "abc", "b") as process:
        wait_for_rows(directory, 1)
        assert [process.stdout.readline().strip() for _ in range(2)] == ["a", "b"]
        process.send_signal(signal.SIGINT)
        assert any("finishing 1 questions" in line for line in process.stderr)
        (tmp_path / "go").touch()
        process.wait()
    assert (process.returncode, set(rows(directory))) == (130, set("ab"))
    assert json.loads((directory / "summary.json").read_text())["complete"] is False
