"""Runs over a provider that counts what it is paid for, and that fails; runs that are killed."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, ThinkingPart, ToolCallPart, Usage
from support.faulty_server import FAULTS, Provider
from support.patience import PATIENCE, eventually
from support.scripted import Function, Priced, engine_lm, render

from eval.figures.summary import Summary
from eval.metrics import em
from eval.runs.runner import evaluate
from eval.runs.store import read
from odqa.bridge import readable, recordable, said_in
from odqa.limits import Limiter, Limits
from programs.steps.ask import ask
from programs.steps.side_by_side import side_by_side
from retrieval import UsageError

pytestmark = pytest.mark.leaves_sockets


class FourCalls(dspy.Module):
    """One call, two side by side, and the first again, which is to give another reply."""

    def __init__(self) -> None:
        super().__init__()
        self.draft = dspy.Predict("question -> answer")
        self.check = dspy.ChainOfThought("question, draft, side -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        draft = ask(self.draft, question=question).answer
        sides = side_by_side(*(lambda s=s: ask(self.check, question=question, draft=draft, side=s) for s in "ab"))
        again = ask(self.draft, question=question).answer
        return dspy.Prediction(answer="Rome", said=[draft, *(side.answer for side in sides), again])


def reply(prompt: str, before: int) -> str:
    return render({"reasoning": "so", "answer": f"reply {before}"})


def questions(count: int) -> list[dspy.Example]:
    return [
        dspy.Example(id=f"q{n}", question=f"Question {n}?", answers=["Rome"]).with_inputs("question")
        for n in range(count)
    ]


def lm(url: str, **settings: Any) -> dspy.LM:
    usual = {"api_key": "none", "cache": False, "timeout": PATIENCE}
    return dspy.LM("openai/gpt-4o-mini", api_base=url, **{**usual, **settings})


def rows(directory: Path) -> list[dict[str, Any]]:
    """The rows in the order of their ids, without what differs from run to run."""
    found = [json.loads(line) for line in (directory / "rows.jsonl").read_bytes().splitlines()]
    for row in found:
        assert row["cost"].pop("seconds") > 0
    return sorted(found, key=lambda row: row["id"])


def run(directory: Path, url: str, count: int, **settings: Any) -> Summary:
    with dspy.context(lm=lm(url)):
        return evaluate(FourCalls(), questions(count), metrics=[em], directory=directory, manifest={}, **settings)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider(reply).running() as provider:
        yield provider


# Forks a child for each line it reads, which makes the run of that directory: to start Python anew takes far longer.
SITTINGS = """
import os, sys
from pathlib import Path
from test_recorded_calls import run

for line in sys.stdin:
    directory, url, count = line.split()
    child = os.fork()
    if child == 0:
        try:
            run(Path(directory), url, int(count), threads=3)
        finally:
            os._exit(0)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


@pytest.mark.slow
def test_a_run_killed_ten_times_pays_each_call_once_and_ends_as_if_it_had_not_been(
    provider: Provider, tmp_path: Path
) -> None:
    count = 12
    run(tmp_path / "undisturbed", provider.url, count, threads=3)
    undisturbed = provider.paid.copy()
    assert sum(undisturbed.values()) == 4 * count

    def paid() -> int:
        return sum(provider.paid.values())

    def kept() -> int:
        return (tmp_path / "killed" / "calls.jsonl").read_bytes().count(b"\n")

    provider.paid.clear()
    choice = random.Random(0)
    with subprocess.Popen(
        [sys.executable, "-c", SITTINGS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{Path(__file__).parents[2]}"},
    ) as sittings:
        for sitting in range(11):
            print(tmp_path / "killed", provider.url, count, file=sittings.stdin, flush=True)
            child = int(sittings.stdout.readline())
            if sitting < 10:
                # Nothing is answered from this request on; what was answered before is to be on disk.
                last = provider.asked + choice.randint(1, 4)
                provider.arrived = lambda number, last=last: number < last or provider.hold.set()
                eventually(lambda: provider.holds_all() and kept() == paid())
                os.kill(child, signal.SIGKILL)
            assert sittings.stdout.readline() == "ended\n"
            provider.arrived = lambda number: None
            provider.hold.clear()
        sittings.stdin.close()
    assert provider.paid == undisturbed
    assert rows(tmp_path / "killed") == rows(tmp_path / "undisturbed")
    assert json.loads((tmp_path / "killed" / "summary.json").read_text())["complete"] is True


@pytest.mark.slow
@pytest.mark.parametrize("num_retries", [3, 0])
def test_failures_of_the_provider_leave_no_failed_question_and_no_silent_zero(
    num_retries: int, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odqa.bridge.tries.time.sleep", lambda seconds: None)  # between DSPy's own retries
    faults = iter(FAULTS * 2)
    provider.fault = lambda number: next(faults, None) if number % 20 == 0 else None  # 5 %
    with dspy.context(lm=lm(provider.url, num_retries=num_retries, timeout=5)):
        summary = evaluate(FourCalls(), questions(70), metrics=[em], directory=tmp_path, threads=4, pause=0.01)
    assert next(faults, "all happened") == "all happened"
    assert (summary.complete, summary.total.n, summary.total.failed, summary.total.unparsable) == (True, 70, 0, 0)
    assert summary.total.scores["em"].mean == 1.0
    assert set(provider.paid.values()) == {1, 2}  # FourCalls makes its first call twice
    assert sum(provider.paid.values()) == 280
    assert summary.total.cost["lm_calls"] == 4


def test_an_error_that_lasts_is_not_tried_again(provider: Provider, tmp_path: Path) -> None:
    provider.fault = lambda number: "500"
    with dspy.context(lm=lm(provider.url, num_retries=0)):
        summary = evaluate(
            FourCalls(), questions(1), metrics=[em], directory=tmp_path / "1", retries=3, pause=0.01, threads=1
        )
        assert (provider.asked, summary.total.failed) == (4, 1)
        assert "LMServerError" in summary.first_error
        provider.fault = lambda number: "401"
        summary = evaluate(FourCalls(), questions(1), metrics=[em], directory=tmp_path / "2", threads=1)
    assert (provider.asked, summary.total.failed) == (5, 1)
    assert "LMAuthError" in summary.first_error


def test_no_more_calls_at_once_than_asked_for(provider: Provider, tmp_path: Path) -> None:
    for calls in 6, 2:
        together = threading.Event()

        def arrived(number: int, last: int = provider.asked + calls, together: threading.Event = together) -> None:
            if number == last:
                together.set()
            assert together.wait(PATIENCE)  # so many are under way at the same time

        provider.arrived, provider.most = arrived, 0
        run(tmp_path / str(calls), provider.url, 6, threads=6, lm_calls=calls)
        assert provider.most == calls


def test_more_calls_at_once_than_one_lm_of_dspy_has_connections(provider: Provider, tmp_path: Path) -> None:
    together = threading.Barrier(110, timeout=60)

    class OneCall(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read = dspy.Predict("question -> answer")

        def forward(self, question: str) -> dspy.Prediction:
            return ask(self.read, question=question)

    provider.arrived = lambda number: (together.wait(), None)[1]
    provider.reply = lambda prompt, before: render({"answer": "a"})
    with dspy.context(lm=lm(provider.url)):
        summary = evaluate(
            OneCall(), questions(110), metrics=[em], directory=tmp_path, threads=110, lm_calls=110, retries=0
        )
    assert (summary.total.n, summary.total.failed) == (110, 0)


def test_a_run_stops_at_a_number_of_calls_and_goes_on_from_there(provider: Provider, tmp_path: Path) -> None:
    summary = run(tmp_path / "run", provider.url, 5, threads=1, limiter=Limiter(Limits(calls=6)))
    assert (summary.complete, summary.stopped) == (False, "the limit of 6 LM calls is reached")
    # The second question had its first call, and one of the two that are made side by side.
    assert (summary.total.n, sum(provider.paid.values())) == (1, 6)
    summary = run(tmp_path / "run", provider.url, 5, threads=1, limiter=Limiter(Limits(calls=6)))
    assert (summary.total.n, sum(provider.paid.values())) == (1, 6)  # what was paid before counts
    summary = run(tmp_path / "run", provider.url, 5, threads=1)
    assert (summary.complete, summary.stopped, summary.total.n) == (True, None, 5)
    assert sum(provider.paid.values()) == 20
    run(tmp_path / "undisturbed", provider.url, 5)
    assert rows(tmp_path / "run") != []
    assert [row["cost"] for row in rows(tmp_path / "run")] == [row["cost"] for row in rows(tmp_path / "undisturbed")]


def test_64_calls_at_once_pay_exactly_what_the_limit_allows_whichever_of_them_fail(
    provider: Provider, tmp_path: Path
) -> None:
    together = threading.Barrier(64, timeout=PATIENCE)
    provider.arrived = lambda number: (number <= 64 and together.wait(), None)[1]
    provider.fault = lambda number: "500" if number % 7 == 0 else None
    with dspy.context(lm=lm(provider.url, num_retries=0)):
        summary = evaluate(
            FourCalls(), questions(64), metrics=[em], directory=tmp_path, threads=64, lm_calls=64, pause=0,
            limiter=Limiter(Limits(calls=100)),
        )  # fmt: skip
    assert (summary.complete, summary.stopped) == (False, "the limit of 100 LM calls is reached")
    assert (provider.most, sum(provider.paid.values())) == (64, 100)
    assert sum(1 for _ in read(tmp_path).calls()) == 100


def test_a_run_stops_at_a_sum_of_dollars(provider: Provider, tmp_path: Path) -> None:
    price = run(tmp_path / "one", provider.url, 1).total.cost["usd"] / 4
    summary = run(tmp_path / "run", provider.url, 5, threads=1, limiter=Limiter(Limits(usd=8.5 * price)))
    assert (summary.complete, summary.total.n) == (False, 2)
    assert summary.stopped == f"the limit of {8.5 * price:g} US dollars is reached"
    with dspy.context(lm=engine_lm(Function(lambda system, user: reply(user, 0)))):
        summary = evaluate(
            FourCalls(),
            questions(5),
            metrics=[em],
            directory=tmp_path / "free",
            threads=1,
            limiter=Limiter(Limits(usd=1)),
        )
    assert (summary.complete, summary.total.n) == (False, 0)
    assert summary.stopped == "the price of an LM call is unknown, and so the limit of dollars cannot be held"
    with dspy.context(lm=engine_lm(Priced(lambda system, user: reply(user, 0)))):
        summary = evaluate(
            FourCalls(),
            questions(5),
            metrics=[em],
            directory=tmp_path / "stated",
            threads=1,
            limiter=Limiter(Limits(usd=2)),
        )
    assert (summary.complete, summary.total.n) == (False, 2)
    assert summary.stopped == "the limit of 2 US dollars is reached"


def test_a_run_stops_after_some_time(provider: Provider, tmp_path: Path) -> None:
    provider.reply = lambda prompt, before: time.sleep(0.3) or reply(prompt, before)
    summary = run(tmp_path, provider.url, 50, threads=2, limiter=Limiter(Limits(minutes=0.01)))
    assert not summary.complete
    assert summary.total.n < 10
    assert summary.stopped == "the limit of 0.01 minutes is reached"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lm15", "litellm"])
def test_dspys_cache_is_used_only_if_the_run_and_its_lm_want_it_and_what_it_answers_is_not_paid(
    engine: str, provider: Provider, tmp_path: Path
) -> None:
    def costs(name: str, *, wanted: bool = True, **settings: Any) -> dict[str, float]:
        with dspy.context(lm=lm(provider.url, **settings)):
            summary = evaluate(FourCalls(), questions(1), metrics=[em], directory=tmp_path / name, cache=wanted)
        return {
            key: summary.total.cost[key] for key in ("lm_calls", "cached_calls", "input_tokens", "paid_input_tokens")
        }

    salt = {"cache": True, "engine": engine, "user": str(tmp_path)}  # a request that no cache on disk knows
    before = dspy.cache
    assert list(costs("not wanted", wanted=False, **salt).values()) == [4, 0, 28, 28]
    provider.paid.clear()
    # The last call asks what the first did.
    assert list(costs("cold", **salt).values()) == [4, 1, 28, 21]
    assert list(costs("warm", **salt).values()) == [4, 4, 28, 0]
    assert sum(provider.paid.values()) == 3
    assert list(costs("off", **{**salt, "cache": False}).values()) == [4, 0, 28, 28]
    assert list(costs("not wanted again", wanted=False, **salt).values()) == [4, 0, 28, 28]
    assert list(costs("another rollout", rollout_id=1, **salt).values()) == [4, 1, 28, 21]
    assert dspy.cache is before


@pytest.mark.parametrize("cache", [True, False])
def test_replies_of_litellm_are_kept_too(cache: bool, provider: Provider, tmp_path: Path) -> None:
    spent = []
    for tries in range(2):
        provider.fault = lambda number, tries=tries: None if tries or number != 2 else "no JSON"
        with dspy.context(lm=lm(provider.url, engine="litellm", cache=cache, num_retries=0, user=str(tmp_path))):
            summary = evaluate(
                FourCalls(), questions(1), metrics=[em], directory=tmp_path / "run", retries=0, manifest={}, lm_calls=1,
                cache=cache,
            )  # fmt: skip
        assert (summary.total.failed, summary.first_error is None) == (1 - tries, bool(tries))
        spent.append(summary.total.cost)
    assert sum(provider.paid.values()) == (3 if cache else 4)
    assert (spent[1]["lm_calls"], spent[1]["cached_calls"]) == (4, int(cache))
    assert spent[1]["usd"] > 0
    assert spent[1]["paid_input_tokens"] == (21 if cache else 28)


def test_one_model_name_on_two_servers_gives_two_runs(provider: Provider, tmp_path: Path) -> None:
    with Provider(lambda prompt, before: render({"reasoning": "so", "answer": "other"})).running() as other:
        said = []
        for name, url in (("a", provider.url), ("b", other.url)):
            # DSPy's cache is on, and its keys leave the server out.
            with dspy.context(lm=lm(url, cache=True, user=str(tmp_path))):
                evaluate(FourCalls(), questions(1), metrics=[em], directory=tmp_path / name)
            said.append(rows(tmp_path / name)[0]["prediction"]["own"]["said"])
        assert said == [["reply 0", "reply 0", "reply 0", "reply 1"], ["other"] * 4]
        assert [sum(server.paid.values()) for server in (provider, other)] == [4, 4]


@pytest.mark.parametrize("what", ["server", "temperature", "adapter"])
def test_a_recorded_reply_is_for_its_server_settings_and_adapter_only(
    what: str, provider: Provider, tmp_path: Path
) -> None:
    def sitting(url: str, adapter: dspy.Adapter, **settings: Any) -> int:
        paid = sum(server.paid.total() for server in (provider, other))

        class Fails(FourCalls):
            def forward(self, question: str) -> dspy.Prediction:
                super().forward(question)
                raise RuntimeError  # the question is asked again in the next sitting

        with dspy.context(lm=lm(url, **settings), adapter=adapter):
            evaluate(Fails(), questions(1), metrics=[em], directory=tmp_path / "run", manifest={})
        return sum(server.paid.total() for server in (provider, other)) - paid

    with Provider(reply).running() as other:
        chat = dspy.ChatAdapter()
        assert sitting(provider.url, chat, temperature=0.5) == 4
        assert sitting(provider.url, chat, temperature=0.5) == 0
        changed = {
            "server": lambda: sitting(other.url, chat, temperature=0.5),
            "temperature": lambda: sitting(provider.url, chat, temperature=0.7),
            "adapter": lambda: sitting(provider.url, Renamed(), temperature=0.5),
        }
        assert changed[what]() == 4


class Renamed(dspy.ChatAdapter):
    """Asks what ChatAdapter asks."""


def test_the_calls_of_a_metric_are_kept_and_are_no_cost_of_the_program(provider: Provider, tmp_path: Path) -> None:
    judge = dspy.Predict("question -> answer: str")
    failures = iter([True])

    def judged(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> float:
        assert judge(question=f"Is {prediction.answer} right?").answer
        if next(failures, False):
            raise dspy.LMServerError("not now")
        return 1.0

    with dspy.context(lm=lm(provider.url)):
        summary = evaluate(FourCalls(), questions(1), metrics=[judged], directory=tmp_path, pause=0.01)
    assert (summary.total.failed, summary.total.cost["lm_calls"]) == (0, 4)
    assert sum(provider.paid.values()) == 5


def test_a_damaged_file_of_calls_and_a_second_run_at_the_same_time(provider: Provider, tmp_path: Path) -> None:
    run(tmp_path / "damaged", provider.url, 1)
    (tmp_path / "damaged" / "calls.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match=r"calls.jsonl, line 1 is damaged: .*; choose another directory"):
        run(tmp_path / "damaged", provider.url, 1)

    class Inner(dspy.Module):
        def forward(self, question: str) -> dspy.Prediction:
            run(tmp_path / "inner", provider.url, 1)

    outer = evaluate(Inner(), questions(1), metrics=[em], directory=tmp_path / "outer")
    assert "another run is under way in this process" in outer.first_error


def test_the_manifest_is_the_same_whatever_the_limits(provider: Provider, tmp_path: Path) -> None:
    run(tmp_path, provider.url, 2, limiter=Limiter(Limits(calls=3)), threads=1)
    assert run(tmp_path, provider.url, 2, limiter=Limiter(Limits(calls=300)), threads=2, retries=5).complete


def test_a_question_in_flight_ends_at_its_next_call_when_the_run_is_left(
    provider: Provider, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    began = threading.Event()
    threads: set[threading.Thread] = set()

    class Slow(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read = dspy.Predict("question -> answer")

        def forward(self, question: str) -> dspy.Prediction:
            threads.add(threading.current_thread())
            while True:
                ask(self.read, question=question)
                began.set()

    def interrupt() -> None:
        began.wait()
        os.kill(os.getpid(), signal.SIGINT)
        eventually(lambda: "interrupt again to leave them" in caplog.text)
        os.kill(os.getpid(), signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    helper.start()
    with dspy.context(lm=lm(provider.url)), pytest.raises(KeyboardInterrupt):
        evaluate(Slow(), questions(4), metrics=[em], directory=tmp_path, threads=2)
    helper.join()
    asked = provider.asked
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert provider.asked <= asked + 2  # those that were under way
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["complete"], summary["stopped"], summary["total"]["n"]) == (False, "interrupted", 0)


def test_the_record_has_who_asked_what_and_no_key(provider: Provider, tmp_path: Path) -> None:
    for n, model in enumerate([lm(provider.url, api_key="sk-secret"), engine_lm(Function(lambda *_: reply("", 0)))]):
        with dspy.context(lm=model):
            evaluate(FourCalls(), questions(1), metrics=[em], directory=tmp_path / f"{n}", manifest={}, threads=1)
        calls = list(read(tmp_path / f"{n}").calls())
        assert [call.predictor for call in calls] == ["draft", "check.predict", "check.predict", "draft"]
        assert [message.role for message in calls[0].prompt] == ["system", "user"]
        assert "[[ ## question ## ]]\nQuestion 0?" in calls[0].prompt[1].text
        assert calls[1].text() == render({"reasoning": "so", "answer": "reply 0"})
        assert "sk-secret" not in (tmp_path / f"{n}" / "calls.jsonl").read_text()


def test_a_reply_is_its_thoughts_its_text_and_its_calls_of_tools() -> None:
    parts = [ThinkingPart("hm"), TextPart("two"), ToolCallPart(id="1", name="look", input={"for": "it"})]
    said = Response(
        id=None, model="m", message=Message.assistant(parts), finish_reason="stop", usage=Usage(input_tokens=1)
    )
    assert said_in(said) == 'hm\n\ntwo\n\n{"name": "look", "arguments": {"for": "it"}}'
    assert readable(recordable(said)) == said
