"""Limits over several runs, with calls that stand in their directories already."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.records import a_manifest, a_reply

from eval.calls.limits import Limits
from eval.runs.budget import Budget, NothingLeft


def paid(directory: Path, *dollars: float | None) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "manifest.json").write_text(json.dumps(a_manifest().entries()))
    call = {"question": "q", "key": "k", "reply": a_reply(), "predictor": "p", "prompt": []}
    calls = [{**call, "usd": usd} for usd in dollars]
    (directory / "calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    return directory


def test_a_run_has_what_the_others_leave_and_what_it_paid_itself(tmp_path: Path) -> None:
    first, second = paid(tmp_path / "1", 1.0, 2.0), paid(tmp_path / "2", 0.5)
    budget = Budget(Limits(calls=5, usd=8.0), [first, second])
    assert budget.left_for(first) == Limits(calls=4, usd=7.5)
    paid(first, 1.0, 2.0, 2.0)  # as it was run
    assert budget.left_for(second) == Limits(calls=2, usd=3.0)


def test_nothing_is_left_when_a_limit_is_reached(tmp_path: Path) -> None:
    first, second = paid(tmp_path / "1", 1.0, None), tmp_path / "2"
    with pytest.raises(NothingLeft, match="the limit of 2 LM calls is reached"):
        Budget(Limits(calls=2), [first]).left_for(second)
    dollars = Budget(Limits(usd=1), [first])
    with pytest.raises(NothingLeft, match="the limit of 1 US dollars is reached"):
        dollars.left_for(second)
    assert dollars.left_for(second, finished=True) == Limits()


def test_minutes_are_those_of_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("eval.runs.budget.time", SimpleNamespace(monotonic=lambda: now))
    budget = Budget(Limits(minutes=2))
    now = 90.0
    assert budget.left_for(tmp_path / "1") == Limits(minutes=0.5)
    now = 120.0
    with pytest.raises(NothingLeft, match="the limit of 2 minutes is reached"):
        budget.left_for(tmp_path / "2")
