"""Questions that end early: the client goes, time is over, the server stops, a limit is reached, something fails."""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from dspy.clients.base_lm import GLOBAL_HISTORY
from support.answers_server import TABLE, answering_with, running, serving
from support.loopback import listens
from support.patience import PATIENCE, eventually
from support.scripted import Function, Priced, engine_lm, render

from odqa.errors import ShardError
from programs.serving.answering import Answering
from retrieval import Passage, RetrievalError, Retriever, UsageError

pytestmark = pytest.mark.needs("uvicorn")

QUESTION = "Who led the Italian troops at Adwa?"
ANSWER = render({"answer": "Baratieri"})
SEARCH = render({"thought": "Search.", "action": "search", "query": "Adwa", "answer": ""})
END = render({"thought": "", "action": "finish", "query": "", "answer": "Baratieri"})
BODIES: dict[str, Any] = {
    "/v1/answers": {"question": QUESTION, "method": "direct"},
    "/v1/chat/completions": {"model": "direct", "messages": [{"role": "user", "content": QUESTION}]},
    "/v1/responses": {"model": "direct", "input": QUESTION},
}


class Gate:
    """The replies of an engine that waits until it is let."""

    def __init__(self, reply: str = ANSWER) -> None:
        self.reply = reply
        self.calls: list[str] = []
        self.open = threading.Event()

    def __call__(self, system: str, user: str) -> str:
        self.calls.append(user)
        assert self.open.wait(PATIENCE)
        return self.reply


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


def gated(gate: Gate, *methods: str, **limits: Any) -> Answering:
    return answering_with(engine_lm(Function(gate)), *methods, limits=limits)


def ask(url: str, method: str = "direct", **body: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/answers", json={"question": QUESTION, "method": method, **body}, timeout=PATIENCE)


def problem(reply: httpx.Response) -> tuple[int, str]:
    return reply.status_code, reply.json()["error"]["code"]


def count(answering: Answering, name: str, **labels: str) -> float | None:
    return answering.metrics.registry.get_sample_value(f"answers_{name}", labels)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", BODIES)
def test_a_client_that_goes_away_stops_its_question(gate: Gate, path: str, stream: bool) -> None:
    gate.reply = SEARCH
    answering = gated(gate, "react")  # asks the LM until it has an answer
    body = json.dumps(BODIES[path] | {"stream": stream}).replace('"direct"', '"react"').encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with serving(answering) as url:
        with socket.create_connection(("127.0.0.1", httpx.URL(url).port)) as connection:
            connection.sendall(f"{head}\r\n\r\n".encode() + body)
            eventually(lambda: gate.calls)
            assert count(answering, "in_flight") == 1
        eventually(lambda: not answering.waited_for)
        gate.open.set()
        eventually(lambda: count(answering, "in_flight") == 0)
        eventually(lambda: count(answering, "questions_total", method="react", outcome="gone") == 1)
    assert len(gate.calls) == 1
    assert count(answering, "searches_total", method="react") == 0
    assert not [thread for thread in threading.enumerate() if thread.name == "question"]


def test_calls_that_are_made_side_by_side_are_stopped_too(gate: Gate) -> None:
    answering = gated(gate, "blendfilter", seconds=0.05)
    with serving(answering) as url:
        assert problem(ask(url, "blendfilter")) == (504, "timeout")
        gate.open.set()
        eventually(lambda: count(answering, "in_flight") == 0)
    assert len(gate.calls) <= 3  # a draft, a passage from memory and a topic, which need not wait for each other


def test_a_question_whose_time_is_over(gate: Gate) -> None:
    with serving(gated(gate, seconds=0.05)) as url:
        assert problem(ask(url)) == (504, "timeout")
        lines = ask(url, stream=True).text.splitlines()
        assert lines[-3] == "event: error"
        assert json.loads(lines[-2].removeprefix("data: "))["error"]["code"] == "timeout"


def test_more_questions_than_may_be_in_flight(gate: Gate) -> None:
    answering = gated(gate, at_once=2, seconds=PATIENCE)
    with serving(answering) as url, ThreadPoolExecutor(2) as pool:
        first = [pool.submit(ask, url) for _ in range(2)]
        eventually(lambda: len(gate.calls) == 2)
        refused = ask(url)
        assert problem(refused) == (503, "busy")
        assert refused.headers["retry-after"] == "1"
        gate.open.set()
        assert [reply.result().json()["answer"] for reply in first] == ["Baratieri"] * 2
        eventually(lambda: count(answering, "in_flight") == 0)
        assert ask(url).status_code == 200


def test_a_question_whose_time_is_over_gives_its_place_back_at_once(gate: Gate) -> None:
    answering = gated(gate, at_once=1, seconds=0.05)
    with serving(answering) as url:
        for _ in range(3):
            assert problem(ask(url)) == (504, "timeout")
        assert count(answering, "in_flight") == 3
        gate.open.set()
        eventually(lambda: count(answering, "in_flight") == 0)
        assert answering.places.free == 1


def test_health_says_whether_there_is_a_place(gate: Gate) -> None:
    with serving(gated(gate, at_once=1, seconds=PATIENCE)) as url, ThreadPoolExecutor(1) as pool:
        assert httpx.get(f"{url}/health").json() == {"status": "ok", "free": 1}
        asked = pool.submit(ask, url)
        eventually(lambda: gate.calls)
        assert httpx.get(f"{url}/health").json() == {"status": "busy", "free": 0}
        gate.open.set()
        assert asked.result().status_code == 200
        eventually(lambda: httpx.get(f"{url}/health").json()["free"] == 1)


def test_no_question_takes_more_tokens_than_one_may_whatever_its_settings() -> None:
    calls: list[int] = []
    lm = engine_lm(Function(lambda system, user: calls.append(len(system) + len(user)) or SEARCH))
    with serving(answering_with(lm, "react", limits={"question_tokens": 5_000})) as url:
        refused = ask(url, "react", settings={"steps": 100})
    assert problem(refused) == (400, "invalid_request")
    assert "5,000 tokens of prompts, replies and passages" in refused.json()["error"]["message"]
    assert sum(calls[:-1]) <= 4 * 5_000 < sum(calls) + len(calls) * (len(SEARCH) + 200)


@pytest.mark.parametrize(
    ("limit", "refused"), [("question_calls", (400, "invalid_request")), ("calls", (429, "limit_reached"))]
)
def test_a_question_has_so_many_calls_and_so_has_a_day_which_may_end_in_its_midst(
    limit: str, refused: tuple[int, str]
) -> None:
    calls: list[str] = []
    lm = engine_lm(Function(lambda _, user: calls.append(user) or SEARCH))
    with serving(answering_with(lm, "react", limits={limit: 2})) as url:
        reply = ask(url, "react")
        assert problem(reply) == refused
        assert limit != "calls" or 0 < int(reply.headers["retry-after"]) <= 24 * 3600
        assert limit != "calls" or problem(ask(url, "react")) == refused
    assert len(calls) == 2


def test_a_day_has_so_many_dollars() -> None:
    with serving(answering_with(engine_lm(Priced(lambda *_: ANSWER)), limits={"usd": 0.5})) as url:
        assert [ask(url).status_code for _ in range(3)] == [200, 200, 429]
        assert ask(url).json()["error"]["message"].startswith("the limit of 0.5 US dollars is reached today")
    with serving(answering_with(engine_lm(Function(lambda *_: ANSWER)), limits={"usd": 0.5})) as url:
        assert [ask(url).status_code for _ in range(2)] == [200, 429]
        assert ask(url).json()["error"]["message"].startswith("the price of an LM call is unknown")


class Failing(Retriever):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def search(self, query: str, k: int) -> list[Passage]:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "code", "message"),
    [
        (RetrievalError("/secret/path"), 502, "retriever_failed", "the retriever failed; the server's log says why"),
        (ShardError("shard 1 is down", "/secret/path"), 502, "retriever_failed", "shard 1 is down"),
        (UsageError("k is too large"), 400, "invalid_request", "k is too large"),
        (RuntimeError("/secret/path"), 500, "failed", "the server failed; its log says why"),
        (SystemExit("/secret/path"), 500, "failed", "the server failed; its log says why"),
    ],
)
def test_what_fails_is_told_without_details(
    error: BaseException, status: int, code: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    lm = engine_lm(Function(lambda *_: ANSWER))
    with serving(answering_with(lm, retriever=Failing(error))) as url:
        reply = ask(url)
        assert problem(reply) == (status, code)
        assert reply.json()["error"]["message"] == message
        assert ask(url, stream=True).text.startswith('event: step\ndata: {"kind":"query"')
    assert status == 400 or "/secret/path" in capfd.readouterr().err


def test_what_the_log_has_of_a_failure_is_without_secrets_and_orders_to_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "a long secret")
    error = RuntimeError("refused: http://me:hunter2@example.org with a long secret\x1b[2J")
    with serving(answering_with(engine_lm(Function(lambda *_: ANSWER)), retriever=Failing(error))) as url:
        assert problem(ask(url)) == (500, "failed")
    log = capfd.readouterr().err
    assert "RuntimeError: refused: http://***@example.org with ***\\u001b[2J" in log
    assert "hunter2" not in log


def test_an_lm_that_fails_is_told_without_details(capfd: pytest.CaptureFixture[str]) -> None:
    def fail(system: str, user: str) -> str:
        raise RuntimeError("no such key: secret")

    with serving(answering_with(engine_lm(Function(fail)))) as url:
        reply = ask(url)
        assert problem(reply) == (502, "lm_failed")
        assert "secret" not in reply.text
        *_, name, _, _ = ask(url, stream=True).text.splitlines()
    assert "no such key: secret" in capfd.readouterr().err
    assert name == "event: error"


def test_a_server_that_stops_answers_what_is_in_flight(gate: Gate) -> None:
    with running(gated(gate)) as (server, url), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, url)
        eventually(lambda: gate.calls)
        server.should_exit = True
        eventually(lambda: not listens(url))
        gate.open.set()
        assert asked.result().json()["answer"] == "Baratieri"


def test_a_server_that_stops_waits_no_longer_than_its_grace(gate: Gate) -> None:
    answering = gated(gate, grace=0.0)
    with running(answering) as (server, url), ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, url)
        eventually(lambda: gate.calls)
        server.should_exit = True
        assert problem(asked.result()) == (503, "stopping")


def test_steps_are_told_in_the_order_in_which_they_happen() -> None:
    happened: list[tuple[str, str]] = []

    class Seen(Retriever):
        def search(self, query: str, k: int) -> list[Passage]:
            happened.append(("query", query))
            return TABLE.search(query, k)

    def reply(system: str, user: str) -> str:
        happened.append(("call", ""))
        return SEARCH if len(happened) < 6 else END

    with serving(answering_with(engine_lm(Function(reply)), "react", retriever=Seen())) as url:
        lines = ask(url, "react", stream=True).text.splitlines()
    steps = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")][:-1]
    assert [(step["kind"], step.get("text", "")) for step in steps if step["kind"] in ("query", "call")] == happened
    assert [step["number"] for step in steps if step["kind"] == "query"] == [1, 2, 3]


def test_nothing_that_was_asked_is_kept_or_counted_by_its_words() -> None:
    before = len(GLOBAL_HISTORY)
    answering = answering_with(engine_lm(Function(lambda *_: ANSWER)))
    with serving(answering) as url:
        assert ask(url).json()["cost"]["lm_calls"] == 1
        metrics = httpx.get(f"{url}/metrics").text
    assert len(GLOBAL_HISTORY) == before
    assert 'answers_questions_total{method="direct",outcome="answered"} 1.0' in metrics
    for word in ("Adwa", "Baratieri"):
        assert word not in metrics
