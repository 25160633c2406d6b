"""What an LM call does when its server drips, floods, asks to be waited for, or sends no completion."""

import asyncio
import gc
import gzip
import json
import pickle
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import dspy
import pytest
from support.patience import PATIENCE
from support.scripted import Function, engine_lm

from odqa.bridge import Call, Watcher, bound, unbound, watching, within
from odqa.secrets import public

pytestmark = pytest.mark.leaves_sockets

GOOD = {
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Rome"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 1},
}
BOMB = gzip.compress(b" " * 100_000_000)


class Server(ThreadingHTTPServer):
    """Answers by the first part of the path; `over` ends what drips."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.over = Event()
        self.authorization: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.authorization.append(self.headers["authorization"])
        what = self.path.split("/")[1]
        with suppress(OSError):  # the client may have gone
            getattr(self, what)() if hasattr(self, what) else self.send(json.loads(BODIES[what]))

    def send(self, body: Any, status: int = 200, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def drip(self) -> None:
        while not self.server.over.wait(0.05):
            self.wfile.write(b" ")

    def body(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000000")
        self.end_headers()
        self.drip()

    def headers_(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
        self.drip()

    def bomb(self) -> None:
        self.send(BOMB, content_encoding="gzip")

    def bomb_of_bombs(self) -> None:
        self.send(gzip.compress(BOMB), content_encoding="gzip, gzip")

    def for_years(self) -> None:
        self.send({"error": {"message": "slow down"}}, 429, retry_after="99999999")

    def for_seconds(self) -> None:
        self.send({"error": {"message": "slow down"}}, 429, retry_after="30")

    def log_message(self, *args: object) -> None:
        pass


BODIES = {
    "good": json.dumps(GOOD),
    "nothing": "{}",
    "no_choices": '{"model": "m", "choices": []}',
    "null_choices": '{"model": "m", "choices": null}',
    "no_message": '{"model": "m", "choices": [{"index": 0, "finish_reason": "stop"}]}',
    "null_message": '{"model": "m", "choices": [{"index": 0, "message": null}]}',
}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.over.set()
        server.shutdown()
        thread.join()


def lm(server: Server, what: str, total: float = PATIENCE, **settings: Any) -> Any:
    usual = {"api_key": "none", "cache": False, "num_retries": 2, "timeout": PATIENCE}
    made = dspy.LM("openai/m", api_base=f"{server.url}/{what}", **{**usual, **settings})
    made.total_seconds = total
    return bound(made)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lm15", "litellm"])
@pytest.mark.parametrize("what", ["body", "headers_"])
def test_a_server_that_drips_is_left_when_the_calls_time_is_over(server: Server, what: str, engine: str) -> None:
    began = time.monotonic()
    with pytest.raises(dspy.LMTimeoutError, match=r"no whole reply .*, which is at most 0\.5 s"):
        lm(server, what, 0.5, engine=engine)("hello")
    assert time.monotonic() - began < PATIENCE


def test_an_awaited_call_ends_too(server: Server) -> None:
    with pytest.raises(dspy.LMTimeoutError, match="no whole reply"):
        asyncio.run(lm(server, "headers_", 0.5).acall("hello"))
    assert asyncio.run(lm(server, "good").acall("hello")) == ["Rome"]


def test_the_nearer_end_counts(server: Server) -> None:
    with pytest.raises(dspy.LMTimeoutError, match="no whole reply"), within(0.3), within(PATIENCE):
        lm(server, "body")("hello")


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("bomb", r"the server's reply has more than 8,388,608 bytes"),
        ("bomb_of_bombs", "the server packed its reply more than once"),
    ],
)
def test_a_reply_that_unpacks_without_end_is_an_error(server: Server, what: str, message: str) -> None:
    with pytest.raises(dspy.LMError, match=message):
        lm(server, what)("hello")
    assert len(server.authorization) == 1  # it is not asked for again


@pytest.mark.parametrize(
    ("what", "total", "message"),
    [
        ("for_years", PATIENCE, r"asks to wait 1e\+08 s \(Retry-After\), more than 60 s"),
        ("for_seconds", 10, r"asks to wait 30 s \(Retry-After\), more than the time left for the call"),
    ],
)
def test_a_server_that_wants_to_be_left_alone_for_long_is_not_waited_for(
    server: Server, what: str, total: float, message: str
) -> None:
    with pytest.raises(dspy.LMRateLimitError, match=message):
        lm(server, what, total)("hello")
    assert len(server.authorization) == 1


def test_a_wait_is_said_and_ends_when_the_run_stops(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    class Stops(Watcher):
        stopping = Event()

    Stops.stopping.set()
    with watching(Stops()), pytest.raises(dspy.LMRateLimitError):
        lm(server, "for_seconds")("hello")
    assert len(server.authorization) == 3
    assert "waiting 30 s before the LM is asked again: the server asks for it (Retry-After)" in caplog.text


@pytest.mark.parametrize("what", ["nothing", "no_choices", "null_choices", "no_message", "null_message"])
def test_what_is_no_completion_is_no_answer(server: Server, what: str) -> None:
    with pytest.raises(dspy.LMError, match="the server's reply is no completion"):
        lm(server, what)("hello")


def test_user_and_password_in_the_address_are_sent_and_nowhere_to_be_seen(server: Server) -> None:
    server.url = server.url.replace("//", "//Ada:s3cret%40word@")
    asked = lm(server, "good", api_key=None)
    assert asked("hello") == ["Rome"]
    assert server.authorization == ["Basic QWRhOnMzY3JldEB3b3Jk"]
    told: list[Call] = []

    class Tells(Watcher):
        def on_call_end(self, call: Call) -> None:
            told.append(call)

    with watching(Tells()):
        asked("hello")
    assert "s3cret" not in repr(told[0].server)
    assert public("s3cret@word QWRhOnMzY3JldEB3b3Jk") == "*** ***"


def test_a_bound_lm_answers_as_before_and_is_copied_and_sent_with_its_boundary(server: Server) -> None:
    plain = dspy.LM("openai/m", api_base=f"{server.url}/good", api_key="none", cache=False, temperature=0.5)
    front = bound(plain)
    assert bound(plain) is front is bound(front)
    assert unbound(front) is plain
    assert (front.model, front.kwargs["temperature"]) == ("openai/m", 0.5)
    for copied in (front.copy(rollout_id=3), deepcopy(front), pickle.loads(pickle.dumps(front))):  # noqa: S301
        seen: list[Any] = []

        class Tells(Watcher):
            def on_call_start(self, call: Call) -> None:
                seen.append(call.rollout)  # noqa: B023

        with watching(Tells()):
            assert copied("hello") == ["Rome"]
        assert seen == [3 if copied.kwargs.get("rollout_id") else None]
    front("hello")
    assert len(plain.history) == 1
    plain.kwargs["temperature"] = 0.7
    assert bound(plain).kwargs["temperature"] == 0.7


def test_an_lm_that_nobody_uses_any_more_is_gone() -> None:
    plain = engine_lm(Function(lambda system, user: "Rome"))
    front = bound(plain)
    shallow, deep = plain.copy(), deepcopy(plain)
    assert bound(plain) is front
    assert [unbound(bound(copied)) is copied for copied in (shallow, deep)] == [True, True]
    assert bound(plain) is front
    gone = weakref.ref(plain), weakref.ref(shallow), weakref.ref(deep)
    del plain, front, shallow, deep
    gc.collect()
    assert [found() for found in gone] == [None] * 3


def test_an_engine_of_the_users_own_that_hangs_is_left_behind() -> None:
    over = Event()
    made = engine_lm(Function(lambda system, user: str(over.wait(PATIENCE))))
    made.total_seconds = 0.2
    with pytest.raises(dspy.LMTimeoutError, match="no whole reply"):
        bound(made)("hello")
    over.set()
