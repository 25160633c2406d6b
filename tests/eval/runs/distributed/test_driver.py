import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import dspy
import pytest
from support.counted_lm import CountedLM, TwoCalls
from support.faulty_server import Provider
from support.patience import eventually
from support.ray_cluster import WITH_RAY, ray_cluster, short_folder
from support.scripted import engine_lm

import retrieval
from eval.figures.summary import Summary
from eval.metrics import STANDARD, em
from eval.records.run import Run
from eval.runs.runner import evaluate
from eval.runs.store import read
from odqa.cluster import Workers
from odqa.limits import Limiter, Limits
from retrieval import Memory, Passage, UsageError

pytestmark = WITH_RAY

WORDS = ["iron", "gold", "zinc", "lead", "neon", "argon", "xenon", "boron"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_cluster(1, 1) as cluster:
        yield cluster


def run(program: dspy.Module, engine: Any, directory: Path, *texts: str, **how: Any) -> Summary:
    asked = [dspy.Example(id=text, question=text, answers=["about gold"]).with_inputs("question") for text in texts]
    how = {"metrics": STANDARD, "threads": 2, "manifest": {"run": 1}, "pause": 0.0, **how}
    with dspy.context(lm=engine_lm(engine)):
        return evaluate(program, asked, directory=directory, **how)


def counted(folder: Path, stuck: str = "") -> CountedLM:
    folder.mkdir()
    return CountedLM(folder, stuck)


def said(found: Run) -> dict[str, Any]:
    """What the rows say, but for the process that asked and the time that it took."""
    rows = {}
    for row in found.rows:
        told = rows[row.id] = row.model_dump()
        del told["cost"]["seconds"]
        if told["prediction"]:
            del told["prediction"]["own"]["pid"]
    return rows


def paid(directory: Path) -> Counter[tuple[str, str]]:
    return Counter((call.question, call.key) for call in read(directory).calls())


def test_a_node_that_dies_changes_no_row_and_no_reply_is_paid_twice(cluster: Any, tmp_path: Path) -> None:
    program = TwoCalls(retrieval.load("sample"))
    run(program, counted(tmp_path / "lm"), tmp_path / "here", *WORDS)
    engine = counted(tmp_path / "lm of workers", stuck="neon")
    there = tmp_path / "there"

    def kill() -> None:
        eventually(lambda: (engine.folder / "stuck").exists() and b'"question": "neon"' in calls_of(there))
        where, process = (engine.folder / "stuck").read_text().split()
        (node,) = [node for node in cluster.worker_nodes if node.node_id == where]
        cluster.remove_node(node, allow_graceful=False)
        eventually(lambda: not Path("/proc", process).exists())  # it outlives its node by a moment
        (engine.folder / "go").touch()

    killer = Thread(target=kill, daemon=True)
    killer.start()
    summary = run(program, engine, there, *WORDS, workers=Workers(2))
    killer.join()

    assert summary.complete
    assert said(read(there)) == said(read(tmp_path / "here"))
    assert paid(there) == paid(tmp_path / "here")
    assert read(there).passages() == read(tmp_path / "here").passages()
    asked = Counter(engine.asked())
    assert (asked["first neon"], asked["second neon"]) == (1, 2)
    assert asked.total() - paid(there).total() <= 2  # in flight on the node that died


def calls_of(directory: Path) -> bytes:
    file = directory / "calls.jsonl"
    return file.read_bytes() if file.exists() else b""


def test_a_limit_stops_all_workers_and_the_run_goes_on_with_what_they_paid_for(cluster: Any, tmp_path: Path) -> None:
    program, engine = TwoCalls(Memory([Passage("1", "Gold is heavy.")])), counted(tmp_path / "lm")
    how: dict[str, Any] = {"workers": Workers(1), "threads": 4, "lm_calls": 2}
    first = run(program, engine, tmp_path / "run", *WORDS, limiter=Limiter(Limits(calls=7)), **how)
    assert (first.stopped, first.complete) == ("the limit of 7 LM calls is reached", False)
    assert paid(tmp_path / "run").total() == len(engine.asked()) == 7
    second = run(program, engine, tmp_path / "run", *WORDS, **how)
    assert (second.complete, second.total.scores["em"].mean) == (True, 1 / 8)
    assert Counter(engine.asked()) == Counter(f"{which} {word}" for word in WORDS for which in ("first", "second"))


def test_when_the_minutes_are_over_a_worker_waits_for_no_reply(cluster: Any, tmp_path: Path) -> None:
    program = TwoCalls(Memory([Passage("1", "Gold is heavy.")]))
    asked = [dspy.Example(id=word, question=word, answers=["gold"]).with_inputs("question") for word in WORDS]
    with Provider(lambda prompt, before: "").running() as provider:
        provider.hold.set()  # it never answers
        for minutes in (0.1, 0.5, 2.5):  # on a busy machine the first may be over before the worker asks
            with dspy.context(lm=dspy.LM("openai/gpt-4o-mini", api_base=provider.url, api_key="k")):
                directory, limiter = tmp_path / f"run {minutes}", Limiter(Limits(minutes=minutes))
                summary = evaluate(
                    program, asked, metrics=[em], directory=directory, workers=Workers(1), limiter=limiter
                )
            assert (summary.total.n, summary.stopped) == (0, f"the limit of {minutes} minutes is reached")
            if provider.asked:
                break
    assert provider.asked


def test_errors_are_those_of_a_run_without_workers(cluster: Any, tmp_path: Path) -> None:
    program, asked = TwoCalls(Memory([Passage("1", "Gold is heavy.")])), ["refuse", "gold"]
    run(program, counted(tmp_path / "lm"), tmp_path / "here", *asked)
    engine = counted(tmp_path / "lm of workers")
    run(program, engine, tmp_path / "there", *asked, workers=Workers(1))
    assert said(read(tmp_path / "there")) == said(read(tmp_path / "here"))
    failed = said(read(tmp_path / "there"))["refuse"]["error"]["message"]
    assert failed.endswith("cannot reach http://***@host/v1?***")
    assert engine.asked().count("first refuse") == 3  # with its two retries

    with pytest.raises(UsageError, match="too few for 9 workers"):
        run(program, engine, tmp_path / "too many", "gold", workers=Workers(9))

    def broken(example: dspy.Example, prediction: dspy.Prediction, trace: object = None) -> float:
        raise LookupError("the metric is broken")

    with pytest.raises(LookupError, match="the metric is broken"):
        run(program, engine, tmp_path / "broken", "refuse", metrics=[em, broken], workers=Workers(1))


def test_an_index_that_a_worker_does_not_find_is_said_in_one_line(cluster: Any, tmp_path: Path) -> None:
    retriever = retrieval.load("sample")
    retriever.opened_as = f"bm25:{tmp_path / 'elsewhere'}"
    try:
        with pytest.raises(UsageError, match=r"there is no BM25 index in .*elsewhere"):
            run(TwoCalls(retriever), counted(tmp_path / "lm"), tmp_path / "run", "gold", workers=Workers(1))
    finally:
        retriever.opened_as = "sample"


# A run in a process of its own, with workers of its own. The second calls about `c` and `d` wait for the file `go`.
RUN = """
import sys
from pathlib import Path
import dspy
from support.counted_lm import CountedLM, TwoCalls
from support.faulty_server import Provider
from support.scripted import engine_lm
from eval.metrics import em
from odqa.cluster import Workers
from eval.runs.runner import evaluate
from retrieval import Memory, Passage
from odqa.console import run

folder = Path(sys.argv[1])
examples = [dspy.Example(id=n, question=n, answers=["Rome"]).with_inputs("question") for n in "abcdef"]
dspy.configure(lm=engine_lm(CountedLM(folder, stuck="b")))
run("prog", lambda: evaluate(TwoCalls(Memory([Passage("1", "text")])), examples, metrics=[em],
    directory=folder / "run", manifest={"run": 1}, threads=1, workers=Workers(1)))
"""


@pytest.mark.slow
def test_an_interrupt_finishes_what_is_in_flight_and_leaves_no_process(tmp_path: Path) -> None:
    with short_folder() as folder:
        environment = {**os.environ, "RAY_TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(tmp_path)], stderr=subprocess.PIPE, text=True, env=environment
        )
        with process:
            try:
                eventually((tmp_path / "stuck").exists)
                process.send_signal(signal.SIGINT)
                assert any("finishing 1 questions" in line for line in process.stderr or ())
                (tmp_path / "go").touch()
                process.communicate()
            finally:
                process.kill()
        eventually(lambda: not processes_with(str(folder)))
    assert process.returncode == 130
    assert {row.id for row in read(tmp_path / "run").rows} == {"a", "b"}
    assert read(tmp_path / "run").gap == "it was interrupted"


def processes_with(argument: str) -> list[str]:
    """The command lines of the processes that run and name this."""
    found = []
    for directory in Path("/proc").iterdir():
        try:
            line = (directory / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        found += [line] if argument in line else []
    return found


@pytest.mark.slow
def test_what_workers_cannot_do_is_said_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = counted(tmp_path / "lm")
    with pytest.raises(UsageError, match="at least 1 worker"):
        Workers(0)
    with pytest.raises(UsageError, match="cannot be sent to workers"):
        run(TwoCalls(Unpicklable([])), engine, tmp_path / "run", "gold", workers=Workers(1))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"ray is not installed, get it by: pip install 'dspy-odqa\[ray\]'"):
        run(TwoCalls(Memory([Passage("1", "text")])), engine, tmp_path / "run", "gold", workers=Workers(1))
    assert engine.asked() == []


class Unpicklable(Memory):
    def __reduce__(self) -> Any:
        raise TypeError("an open file cannot be pickled")
