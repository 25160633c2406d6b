"""From a request to a run, in code."""

import re
from pathlib import Path
from typing import Any

import dspy
import pytest

from eval import Request, figures_of, report, run
from eval.runs.prepare import Opened, adapter, load_lm, prepare
from eval.tasks import load
from programs.instruments.adapters import adapter_name
from retrieval import UsageError


def test_a_run_its_figures_and_its_report(tmp_path: Path) -> None:
    done = run(Request(task="sample", program="direct", lm="extractive", limit=3), tmp_path / "run")
    assert figures_of(done).total.n == len(done.rows) == 3
    assert figures_of(done).complete
    assert {"em", "f1"} <= figures_of(done).total.scores.keys()
    report([done], tmp_path / "run.html")
    assert load("sample", 1)[0].question in (tmp_path / "run.html").read_text()
    before = (tmp_path / "run" / "rows.jsonl").read_bytes()
    again = run(Request(task="sample", program="direct", lm="extractive", limit=3), tmp_path / "run")
    assert (figures_of(again), (tmp_path / "run" / "rows.jsonl").read_bytes()) == (figures_of(done), before)
    with pytest.raises(UsageError, match="holds another run, with different settings"):
        run(Request(task="sample", program="direct", lm="extractive", limit=3, settings={"k": 2}), tmp_path / "run")


def test_what_runs_share_is_opened_once() -> None:
    opened = Opened()
    requests = [Request(task="sample", program=name, lm="extractive", limit=2) for name in ("direct", "cot")]
    with adapter(requests[0]):
        first, second = (prepare(request, opened) for request in requests)
    assert first.examples is second.examples
    assert first.retriever is second.retriever
    assert first.lm is second.lm
    assert type(first.module) is not type(second.module)


def test_a_local_model_is_asked_as_json_where_the_request_names_no_form(monkeypatch: pytest.MonkeyPatch) -> None:
    def form(**asked: Any) -> str:
        with adapter(Request(task="sample", program="direct", **asked)):
            return adapter_name(dspy.settings.adapter)

    assert (form(lm="gguf:model.gguf"), form(lm="gguf:model.gguf", adapter="chat")) == ("json", "chat")
    assert form(lm="openai/x") == "chat"
    monkeypatch.setenv("ODQA_LM", "gguf:model.gguf")
    assert form() == "json"


def test_the_oracle_is_made_for_the_questions() -> None:
    assert load_lm("oracle", {"temperature": 0.5}, load("sample", 1), None, 0).model.startswith("oracle/")
    with pytest.raises(UsageError, match="the oracle has no setting 'top_p'"):
        load_lm("oracle", {"top_p": 0.5}, load("sample", 1), None, 0)


def test_the_lines_of_the_guide_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "evaluation.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^## From code\n\n```python\n(.*?)^```$", guide, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    exec(lines, {})
    assert capsys.readouterr().out.startswith("0.")
    assert Path("mine.html").exists()
