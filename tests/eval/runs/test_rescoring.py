import json
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.patience import PATIENCE, eventually
from support.scripted import Function, engine_lm, render

from eval.figures.comparison import best_of
from eval.metrics import acc_judge, em, f1, load, recall_passages
from eval.records.run import Run
from eval.runs.rescoring import rescore
from eval.runs.runner import evaluate
from eval.runs.store import read
from programs.steps.ask import ask
from programs.steps.result import result
from retrieval import Passage, UsageError

PASSAGES = [Passage("1", "Rome is the capital.", "Rome"), Passage("2", "Paris is big.", "Paris")]


class Reader(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.read = dspy.Predict("question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        answer = ask(self.read, question=question).answer
        if question == "crash":
            raise ConnectionError("cannot reach the server")
        facts = [{"fact": "Rome is the capital.", "passages": ["1"]}]
        evidence = [Passage("1", "Rome.", "Rome")]
        return result(answer=answer, queries=[question], passages=PASSAGES, evidence=evidence, known_facts=facts)


class Counting:
    """An LM that counts what it is asked, as a program's and as a judge."""

    def __init__(self) -> None:
        self.asked = 0
        self.lm = engine_lm(Function(self._reply)).copy(cache=True)  # without a cache nothing of a judge is recorded

    def _reply(self, system: str, user: str) -> str:
        self.asked += 1
        if "[[ ## prediction ## ]]" not in user:
            return render({"answer": "the eternal city"})
        right = ("July 1969", "the playwright Shakespeare", "\n8\n", "the longer one of the two", "eternal")
        return render({"implied": "yes" if any(text in user for text in right) else "no"})


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def run(tmp_path: Path, counting: Counting) -> Run:
    examples = [
        dspy.Example(id=q, question=q, answers=["Rome"], gold_titles=["Rome", "Oslo"]).with_inputs("question")
        for q in ("one", "two", "crash")
    ]
    with dspy.context(lm=counting.lm):
        evaluate(Reader(), examples, metrics=[em, f1], directory=tmp_path / "run", manifest={"task": "t"}, threads=1)
    return read(tmp_path / "run")


def test_other_metrics_are_computed_from_the_rows_and_the_manifest_says_so(run: Run, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    metrics = [f1, recall_passages, load("citation_recall:lexical")]
    seen = []
    summary = rescore(run, metrics=metrics, directory=tmp_path / "new", on_row=lambda row: seen.append(row.id))
    assert summary.complete
    new = read(tmp_path / "new")
    assert [row.scores for row in new.rows] == [
        {"f1": 0.0, "recall_passages": 0.5, "citation_recall:lexical": 1.0},
        {"f1": 0.0, "recall_passages": 0.5, "citation_recall:lexical": 1.0},
        {"f1": None, "recall_passages": None, "citation_recall:lexical": None},
    ]
    assert seen == ["one", "two", "crash"]
    manifest = new.manifest.entries()
    assert manifest["metrics"] == ["f1", "recall_passages", "citation_recall:lexical"]
    assert manifest["rescored"] == {"run": run.name, "metrics": ["em", "f1"], "started": run.manifest.started}
    unchanged = {"scores": {}, "judging": {}}
    assert [r.model_copy(update=unchanged) for r in new.rows] == [r.model_copy(update=unchanged) for r in run.rows]
    assert new.passages() == run.passages()
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_a_judge_is_asked_once_and_the_program_never(run: Run, tmp_path: Path, counting: Counting) -> None:
    judge = acc_judge(counting.lm, name="acc_judge:x")
    asked = counting.asked
    rescore(run, metrics=[judge], directory=tmp_path / "new", threads=1)
    assert counting.asked == asked + 2  # an answer of the program's each; the third question has none
    new = read(tmp_path / "new")
    assert [row.scores for row in new.rows[:2]] == [{"acc_judge:x": 1.0}] * 2
    assert [row.judging["acc_judge:x"].lm_calls for row in new.rows[:2]] == [1, 1]
    assert new.manifest.self_tests["acc_judge:x"].lm_calls == 8
    # Killed before its rows were written, it goes on without paying again; nor does a rescoring of this run.
    (tmp_path / "new" / "rows.jsonl").unlink()
    rescore(run, metrics=[judge], directory=tmp_path / "new", threads=1)
    rescore(new, metrics=[judge, em], directory=tmp_path / "third", threads=1)
    assert counting.asked == asked + 2


def test_a_second_interrupt_leaves_a_judge_that_does_not_answer(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    began, over, main = threading.Event(), threading.Event(), threading.get_ident()

    def silent(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> float:
        if threading.current_thread() is not threading.main_thread():  # where it is tried out
            began.set()
            over.wait(PATIENCE)
        return 1.0

    def main_is_in(function: str) -> bool:
        frames = traceback.extract_stack(sys._current_frames()[main])
        return over.is_set() or any(frame.name == function for frame in frames)

    def interrupt() -> None:
        began.wait()
        for function in ("result", "shutdown"):  # it waits for a row, then for the threads
            eventually(lambda function=function: main_is_in(function))
            if not over.is_set():
                os.kill(os.getpid(), signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    helper.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            rescore(run, metrics=[silent], directory=tmp_path / "new", threads=1)
    finally:  # so that no later test is interrupted
        over.set()
        helper.join()
    assert "interrupt again to leave" in caplog.text
    assert read(tmp_path / "new").gap


def test_a_question_that_only_a_metric_failed_is_scored(run: Run, tmp_path: Path) -> None:
    failed: dict[str, Any] = {"error": {"kind": "LMError", "message": "the judge"}, "scores": {"em": None}}
    lines = [{**row.model_dump(mode="json"), **(failed if row.id == "one" else {})} for row in run.rows]
    (tmp_path / "run" / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rescore(read(tmp_path / "run"), metrics=[em], directory=tmp_path / "new")
    row = read(tmp_path / "new").rows[0]
    assert (row.error, row.scores) == (None, {"em": 0.0})


@pytest.mark.parametrize("content", ["", '{"id": "1", "title": "", "text": [null]}\n'])
def test_a_run_whose_passages_are_damaged_is_not_rescored(run: Run, tmp_path: Path, content: str) -> None:
    (run.directories[0] / "passages.jsonl").write_text(content)
    with pytest.raises(UsageError, match="damaged"):
        rescore(run, metrics=[em], directory=tmp_path / "new")


def test_what_cannot_be_rescored(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the best of several runs has no answers"):
        rescore(best_of([run, run]), metrics=[em], directory=tmp_path / "new")
    with pytest.raises(UsageError, match=r"needs 'decomposition' of .* which rows do not have"):
        rescore(run, metrics=[load("knowledge_accuracy")], directory=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(UsageError, match="holds another run, with different"):
        rescore(run, metrics=[em], directory=tmp_path / "run")
