"""What an LM call does when its server drips, floods, asks to be waited for, or sends no completion."""

import asyncio
import gc
import pickle
import time
import weakref
from collections.abc import Iterator
from copy import deepcopy
from threading import Event
from typing import Any

import dspy
import pytest
from support.hostile_lm import NO_COMPLETION, HostileLM
from support.loopback import running
from support.patience import PATIENCE
from support.scripted import Function, engine_lm

from odqa.bridge import Call, Watcher, bound, unbound, watching, within
from odqa.secrets import public

pytestmark = pytest.mark.leaves_sockets


@pytest.fixture
def server() -> Iterator[HostileLM]:
    with running(HostileLM()) as server:
        yield server
        server.over.set()


def lm(server: HostileLM, what: str, total: float = PATIENCE, **settings: Any) -> Any:
    usual = {"api_key": "none", "cache": False, "num_retries": 2, "timeout": PATIENCE}
    made = dspy.LM("openai/m", api_base=f"{server.url}/{what}", **{**usual, **settings})
    made.total_seconds = total
    return bound(made)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["lm15", "litellm"])
@pytest.mark.parametrize("what", ["drip_body", "drip_head"])
def test_a_server_that_drips_is_left_when_the_calls_time_is_over(server: HostileLM, what: str, engine: str) -> None:
    began = time.monotonic()
    with pytest.raises(dspy.LMTimeoutError, match=r"no whole reply .*, which is at most 0\.5 s"):
        lm(server, what, 0.5, engine=engine)("hello")
    assert time.monotonic() - began < PATIENCE


def test_an_awaited_call_ends_too(server: HostileLM) -> None:
    with pytest.raises(dspy.LMTimeoutError, match="no whole reply"):
        asyncio.run(lm(server, "drip_head", 0.5).acall("hello"))
    assert asyncio.run(lm(server, "good").acall("hello")) == ["Rome"]


def test_the_nearer_end_counts(server: HostileLM) -> None:
    with pytest.raises(dspy.LMTimeoutError, match="no whole reply"), within(0.3), within(PATIENCE):
        lm(server, "drip_body")("hello")


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("bomb", r"the server's reply has more than 8,388,608 bytes"),
        ("endless", r"the server's reply has more than 8,388,608 bytes"),
        ("bomb_of_bombs", "the server packed its reply more than once"),
    ],
)
def test_a_reply_that_unpacks_without_end_is_an_error(server: HostileLM, what: str, message: str) -> None:
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
    server: HostileLM, what: str, total: float, message: str
) -> None:
    with pytest.raises(dspy.LMRateLimitError, match=message):
        lm(server, what, total)("hello")
    assert len(server.authorization) == 1


def test_a_wait_is_said_and_ends_when_the_run_stops(server: HostileLM, caplog: pytest.LogCaptureFixture) -> None:
    class Stops(Watcher):
        stopping = Event()

    Stops.stopping.set()
    with watching(Stops()), pytest.raises(dspy.LMRateLimitError):
        lm(server, "for_seconds")("hello")
    assert len(server.authorization) == 3
    assert "waiting 30 s before the LM is asked again: the server asks for it (Retry-After)" in caplog.text


@pytest.mark.parametrize("what", NO_COMPLETION)
def test_what_is_no_completion_is_no_answer(server: HostileLM, what: str) -> None:
    with pytest.raises(dspy.LMError, match="the server's reply is no completion"):
        lm(server, what)("hello")


def test_user_and_password_in_the_address_are_sent_and_nowhere_to_be_seen(server: HostileLM) -> None:
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


def test_a_bound_lm_answers_as_before_and_is_copied_and_sent_with_its_boundary(server: HostileLM) -> None:
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
