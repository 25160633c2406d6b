import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.records import a_row
from support.runs_on_disk import begin_run

from eval.figures.summary import summarise
from eval.records.record import Prediction
from eval.records.run import CallLog, Run
from eval.runs.store import Store, read
from retrieval import Passage, UsageError


def made(directory: Path, rows: int = 2, asked: int = 3) -> Store:
    """A run that was killed after so many of its questions."""
    store = Store(
        directory, {"metrics": [], "questions": "h", "versions": {}}, asked=asked, self_tests={}, resumable=True
    )
    for n in range(rows):
        store.hold([Passage(f"p{n}", f"text {n}", f"Title {n}")])
        store.add(a_row(f"q{n}"))
    return store


def taken_up(directory: Path, **manifest: Any) -> Store:
    whole = {"metrics": [], "questions": "h", "versions": {}, **manifest}
    return Store(directory, whole, asked=3, self_tests={}, resumable=True)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    store = made(tmp_path)
    run = read(tmp_path)
    assert run == Run(
        str(tmp_path), (tmp_path,), store.manifest, list(store.whole_rows()), "it was killed, or is under way"
    )
    assert run.passages() == {f"p{n}": Passage(f"p{n}", f"text {n}", f"Title {n}") for n in range(2)}


def test_a_line_that_is_cut_off_is_left_out_and_goes_when_the_run_is_taken_up(tmp_path: Path) -> None:
    made(tmp_path)
    for name, line in {"rows.jsonl": '{"id": "q3", "sco', "passages.jsonl": '{"id": "p', "calls.jsonl": "{"}.items():
        with (tmp_path / name).open("a") as file:
            file.write(line)
    run = read(tmp_path)
    assert ([row.id for row in run.rows], list(run.passages())) == (["q0", "q1"], ["p0", "p1"])
    store = taken_up(tmp_path)
    with store.calls.appending():
        assert list(store.calls.read()) == []
    assert store.hold([Passage("p1", "another text", "")]) == set()
    store.add(a_row("q2"))
    for file in tmp_path.glob("*.jsonl"):
        assert all(json.loads(line) for line in file.read_bytes().splitlines())
    assert read(tmp_path).gap is None


def test_failed_questions_are_asked_again(tmp_path: Path) -> None:
    made(tmp_path).add(a_row("q2", error="LMTimeoutError: late"))
    assert [row.id for row in taken_up(tmp_path).rows] == ["q0", "q1"]
    assert [row.id for row in read(tmp_path).rows] == ["q0", "q1"]


def test_the_last_row_of_a_question_counts(tmp_path: Path) -> None:
    store = made(tmp_path)
    store.add(a_row("q0", scores={"em": 1.0}))
    assert [(row.id, row.scores) for row in read(tmp_path).rows] == [("q0", {"em": 1.0}), ("q1", {})]


@pytest.mark.parametrize(
    ("stopped", "failed", "gap"),
    [
        (None, False, "it was interrupted"),
        ("the limit of 3 LM calls is reached", False, "the limit of 3 LM calls is reached"),
        (None, True, "all of the first questions failed"),
    ],
)
def test_why_a_run_is_not_complete(tmp_path: Path, stopped: str | None, failed: bool, gap: str) -> None:
    store = made(tmp_path, rows=0)
    store.add(a_row("q0", error="ValueError: no" if failed else None))
    store.conclude(summarise(store.rows, 3, store.manifest, stopped))
    assert read(tmp_path).gap == gap
    store.add(a_row("q1"))
    assert read(tmp_path).gap == "it was killed, or is under way"  # the summary is of an earlier sitting


def test_a_run_may_have_lone_surrogates_wherever_it_has_text(tmp_path: Path) -> None:
    store = begin_run(tmp_path / "run", 1, fingerprints={"index \ud800": {"corpus": "1"}})
    row = a_row("q \ud800", type="type \ud800")
    store.add(row.model_copy(update={"prediction": Prediction(answer="a \ud800", own={"key \ud800": "text"})}))
    store.conclude(summarise(store.rows, 1, store.manifest))
    run = read(tmp_path / "run")
    assert run.gap is None
    assert run.manifest.entries()["fingerprints"] == {"index \ud800": {"corpus": "1"}}
    assert [(row.type, row.prediction and row.prediction.own) for row in run.rows] == [
        ("type \ud800", {"key \ud800": "text"})
    ]


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere holds no run: there is no "):
        read(tmp_path / "nowhere")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(UsageError, match="holds other files than a run's"):
        made(tmp_path / "other")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("rows.jsonl", "[]\n"),
        ("rows.jsonl", '{"id": "q0"}\n'),
        ("rows.jsonl", "{\n"),
        ("manifest.json", "[]"),
        ("manifest.json", "{"),
        ("manifest.json", '{"format": 2}'),
    ],
)
def test_damage_is_said_in_one_line(tmp_path: Path, file: str, content: str) -> None:
    made(tmp_path)
    (tmp_path / file).write_text(content)
    for use in read, taken_up:
        with pytest.raises(UsageError, match=rf"{file}.* is damaged: ") as raised:
            use(tmp_path)
        assert "\n" not in str(raised.value)


def test_damaged_passages_and_calls_are_said_in_one_line(tmp_path: Path) -> None:
    store = made(tmp_path)
    (tmp_path / "passages.jsonl").write_text("[1]\n")
    (tmp_path / "calls.jsonl").write_text("[1]\n")
    for use in lambda: taken_up(tmp_path), lambda: list(store.calls.read()):
        with pytest.raises(UsageError, match=r"\.jsonl, line 1 is damaged: .*; choose another directory"):
            use()
    with pytest.raises(UsageError, match=r"passages.jsonl, line 1 is damaged: "):
        read(tmp_path).passages()


@pytest.mark.parametrize("manifest", [{"task": "sample", "asked": 3}, {"format": 0}])
def test_the_form_of_another_version_is_said_in_one_line(tmp_path: Path, manifest: dict[str, Any]) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    for use in read, taken_up:
        with pytest.raises(UsageError, match="has the form of another version of dspy-odqa: run it again"):
            use(tmp_path)


def test_another_run_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    with pytest.raises(UsageError, match="holds another run, with different questions, k; choose another directory"):
        taken_up(tmp_path, k=5, questions="others")


def test_a_thread_that_is_left_behind_writes_to_no_other_file(tmp_path: Path) -> None:
    log, other = CallLog(tmp_path / "calls.jsonl"), tmp_path / "rows.jsonl"
    written: list[int] = []
    refused: list[str] = []

    def write_on(write: Callable[[bytes], object], begun: threading.Event) -> None:
        lines = 0
        try:
            while True:
                write(b"x" * 20_000 + b"\n")
                lines += 1
                begun.set()
        except ValueError as error:
            refused.append(str(error))
        written.append(lines)

    for _ in range(50):
        begun = threading.Event()
        with log.appending() as write:
            threads = [threading.Thread(target=write_on, args=(write, begun)) for _ in range(2)]
            for thread in threads:
                thread.start()
            begun.wait()
        with other.open("ab", buffering=0):  # often with the number that the log's file had
            for thread in threads:
                thread.join()
    assert other.read_bytes() == b""
    assert len(refused) == 100
    lines = (tmp_path / "calls.jsonl").read_bytes().splitlines()
    assert len(lines) == sum(written)
    assert {len(line) for line in lines} == {20_000}


def test_only_who_writes_calls_removes_one_that_is_cut_off(tmp_path: Path) -> None:
    torn = tmp_path / "calls.jsonl"
    torn.write_bytes(b'{"key": "cut')
    assert list(CallLog(torn).read()) == []
    assert torn.read_bytes() == b'{"key": "cut'  # another process may be writing it
    with CallLog(torn).appending() as write:
        write(b"whole\n")
    assert torn.read_bytes() == b"whole\n"
