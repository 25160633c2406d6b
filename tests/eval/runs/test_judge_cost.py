"""What a judge costs is counted apart from the program, once, and held by the limits."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import dspy
import pytest
from support.faulty_server import Provider
from support.scripted import Function, engine_lm, render

from eval.__main__ import main
from eval.figures.comparison import best_of
from eval.figures.costs import costs
from eval.figures.summary import Summary, judges
from eval.metrics import Metric, acc_judge, em, self_test_of
from eval.papers.tables import Column, TableRow, find
from eval.reports.text import cost_table, table
from eval.runs.runner import evaluate
from eval.runs.store import read
from odqa.limits import Limiter, Limits
from programs.instruments.adapters import load_adapter
from programs.steps.ask import ask
from retrieval import UsageError

pytestmark = pytest.mark.leaves_sockets
RIGHT = ("July 1969", "the playwright Shakespeare", "\n8\n", "the longer one of the two")  # the self-test's
COUNT = 4  # questions, each with a call of the program and one of the judge


class OneCall(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.read = dspy.Predict("question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        return dspy.Prediction(answer=ask(self.read, question=question).answer)


def reply(prompt: str, before: int) -> str:
    if "[[ ## prediction ## ]]" in prompt:
        return render({"implied": any(answer in prompt for answer in (*RIGHT, "the eternal city"))})
    return render({"answer": "the eternal city"})


def questions() -> list[dspy.Example]:
    return [
        dspy.Example(id=f"q{n}", question=f"Question {n}?", answers=["Rome"]).with_inputs("question")
        for n in range(COUNT)
    ]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(reply).running() as provider:
        yield provider


def judge(provider: Provider, salt: Path, **settings: Any) -> Metric:
    # The user makes requests that no cache on disk knows.
    lm = dspy.LM("openai/gpt-4o", api_base=provider.url, api_key="none", user=str(salt), **settings)
    return acc_judge(lm, name="acc_judge:openai/gpt-4o")


def run(provider: Provider, directory: Path, metric: Metric, *, cache: bool = False, **settings: Any) -> Summary:
    lm = dspy.LM("openai/gpt-4o-mini", api_base=provider.url, api_key="none", cache=cache, user=str(directory.parent))
    with dspy.context(lm=lm):
        return evaluate(
            OneCall(), questions(), metrics=[em, metric], directory=directory, manifest={}, threads=1, cache=cache,
            **settings,
        )  # fmt: skip


def test_a_judges_calls_are_no_cost_of_the_program(provider: Provider, tmp_path: Path) -> None:
    metric = judge(provider, tmp_path)
    test = self_test_of(metric)
    assert test is not None
    assert (test.lm_calls, test.cached_calls, test.input_tokens, test.output_tokens) == (8, 0, 56, 24)
    assert self_test_of(em) is None
    summary = run(provider, tmp_path / "run", metric)
    assert summary.total.scores["acc_judge:openai/gpt-4o"].mean == 1
    assert summary.total.cost["lm_calls"] == 1
    (row, *_) = read(str(tmp_path / "run")).rows
    assert row.judging["acc_judge:openai/gpt-4o"].lm_calls == row.cost.lm_calls == 1
    spent = summary.judges["acc_judge:openai/gpt-4o"]
    assert (spent.lm_calls, spent.input_tokens, spent.output_tokens) == (12, 84, 36)
    assert test.usd > 0
    assert spent.usd == spent.paid_usd == pytest.approx(12 / 8 * test.usd)
    assert f"12 calls and {spent.usd:.6f} USD of it were paid in this run." in table(summary)
    assert sum(provider.paid.values()) == 8 + 2 * COUNT


def test_the_commands_show_it(provider: Provider, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(provider, tmp_path / "run", judge(provider, tmp_path))
    with pytest.raises(SystemExit):
        main(["cost", str(tmp_path / "run")])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["besides,", "acc_judge:openai/gpt-4o", "12", "84", "36"] in [line[:5] for line in lines]
    assert ["paid", "in", "this", "run", "12", "84", "36"] in [line[:7] for line in lines]


def test_a_run_that_is_cut_short_anywhere_pays_the_judge_once(provider: Provider, tmp_path: Path) -> None:
    summary, sittings = None, 0
    while summary is None or not summary.complete:
        sittings += 1
        # Each sitting is stopped at its first call: before the program, or between the program and the judge.
        summary = run(
            provider, tmp_path / "run", judge(provider, tmp_path), limiter=Limiter(Limits(calls=8 + sittings))
        )
    assert sittings == 2 * COUNT
    assert sum(provider.paid.values()) == 8 + 2 * COUNT
    spent = summary.judges["acc_judge:openai/gpt-4o"]
    assert (spent.lm_calls, spent.cached_calls) == (12, 0)
    assert spent.usd == spent.paid_usd


def test_a_limit_that_is_too_low_for_the_test_of_the_judge_is_refused_before_it(
    provider: Provider, tmp_path: Path
) -> None:
    lm = dspy.LM("openai/gpt-4o", api_base=provider.url, api_key="none", user=str(tmp_path))
    with pytest.raises(UsageError, match="the test of a judge takes 8 LM calls, and the limit is 7"):
        acc_judge(lm, most_calls=7)
    assert not provider.paid
    assert self_test_of(acc_judge(lm, most_calls=8))


def test_on_a_warm_cache_nothing_is_paid(provider: Provider, tmp_path: Path) -> None:
    first = run(provider, tmp_path / "a", judge(provider, tmp_path), cache=True)
    second = run(provider, tmp_path / "b", judge(provider, tmp_path), cache=True)
    assert sum(provider.paid.values()) == 8 + 2 * COUNT
    before, after = (summary.judges["acc_judge:openai/gpt-4o"] for summary in (first, second))
    assert (after.lm_calls, after.cached_calls, after.input_tokens) == (12, 12, before.input_tokens)
    assert (after.usd, after.paid_usd, after.paid_input_tokens) == (before.usd, 0, 0)


def test_another_server_with_a_judge_of_the_same_name_is_tested_itself(provider: Provider, tmp_path: Path) -> None:
    judge(provider, tmp_path)
    with Provider(lambda prompt, before: render({"implied": True})).running() as other:
        with pytest.raises(UsageError, match="is no judge of answers: of 8 known ones it gets 4 wrong"):
            judge(other, tmp_path)
        with pytest.raises(UsageError, match="is no judge of answers"):
            judge(other, tmp_path, temperature=0.0)
        assert sum(other.paid.values()) == 16


def test_a_judge_is_asked_in_one_form_whatever_the_program_is_asked_in(provider: Provider, tmp_path: Path) -> None:
    with dspy.context(adapter=load_adapter("json", structured="on")):
        judge(provider, tmp_path)
    assert all("[[ ## prediction ## ]]" in body["messages"][-1]["content"] for body in provider.bodies)
    assert not any("response_format" in body for body in provider.bodies)


def test_the_limits_count_the_judge_and_its_test(provider: Provider, tmp_path: Path) -> None:
    stopped = run(provider, tmp_path / "calls", judge(provider, tmp_path), limiter=Limiter(Limits(calls=10)))
    assert (stopped.total.n, stopped.stopped) == (1, "the limit of 10 LM calls is reached")
    test = self_test_of(judge(provider, tmp_path / "other"))
    assert test is not None
    stopped = run(provider, tmp_path / "usd", judge(provider, tmp_path / "usd"), limiter=Limiter(Limits(usd=test.usd)))
    assert (stopped.total.n, stopped.stopped) == (0, f"the limit of {test.usd:g} US dollars is reached")


def test_a_judge_without_a_price_cannot_be_held_to_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    free = acc_judge(engine_lm(Function(lambda system, user: reply(user, 0))), name="acc_judge:test/free")
    monkeypatch.setattr("eval.metrics.load", lambda name, **how: free)
    flags = ["--lm", "openai/gpt-4o-mini", "--max-usd", "1", "--metrics", "acc_judge:test/free"]
    with pytest.raises(SystemExit) as ended:
        main(["sample", "--program", "cot", *flags])
    assert ended.value.code == 2
    assert "the price of acc_judge:test/free is unknown, and so --max-usd cannot be held" in capsys.readouterr().err


def test_the_judge_of_a_papers_table_has_an_address_too(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    column = Column(name="Hotpot", task="hotpotqa:migres", metric="acc_judge")
    row = TableRow(name="Direct", figures=(Decimal("51.8"),), program="direct", retriever="none")
    table = find("migres:table8").model_copy(update={"columns": (column,), "rows": (row,)})
    for module in "tables", "measuring":
        monkeypatch.setattr(f"eval.papers.{module}.all_tables", lambda: [table])
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    question = {"id": "1", "question": "Which river is long?", "answers": ["Orm"]}
    (tmp_path / "hotpotqa.dev.jsonl").write_text(json.dumps(question))
    flags = ["--data", str(tmp_path), "--runs", str(tmp_path / "runs"), "--lm", "oracle:1"]
    judge = ["--judge", "openai/gpt-4.1-nano", "--judge-api-base", provider.url]  # which no other test asks
    with pytest.raises(SystemExit):
        main(["paper", "migres:table8", *flags, *judge])
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("Direct  Hotpot"))
    assert line.split()[2:4] == ["51.8", "0.0"]
    assert sum(provider.paid.values()) == 8 + 1


def test_a_judge_that_fails_is_counted_too(provider: Provider, tmp_path: Path) -> None:
    metric = judge(provider, tmp_path, num_retries=0)
    asked = provider.asked
    provider.fault = lambda number: "500" if number == asked + 2 else None  # the first question's judge
    summary = run(provider, tmp_path / "run", metric, pause=0.01)
    assert (summary.total.failed, summary.judges["acc_judge:openai/gpt-4o"].lm_calls) == (0, 12)
    assert sum(provider.paid.values()) == 8 + 2 * COUNT


def test_a_run_without_a_judge_has_nothing_to_say(provider: Provider, tmp_path: Path) -> None:
    summary = run(provider, tmp_path / "run", em)
    assert summary.judges == {}
    assert "Besides" not in table(summary)
    rows = read(str(tmp_path / "run")).rows
    assert [row.judging for row in rows] == [{}] * COUNT
    assert "besides" not in cost_table(costs(rows, summary.manifest))


def test_the_judges_of_the_best_of_several_runs_add_up(provider: Provider, tmp_path: Path) -> None:
    for name in "ab":
        run(provider, tmp_path / name, judge(provider, tmp_path / name))
    best = best_of([read(str(tmp_path / name)) for name in "ab"])
    spent = judges(best.rows, best.manifest)["acc_judge:openai/gpt-4o"]
    one = judges(read(str(tmp_path / "a")).rows, read(str(tmp_path / "a")).manifest)["acc_judge:openai/gpt-4o"]
    assert (spent.lm_calls, spent.usd) == (24, pytest.approx(2 * one.usd))
