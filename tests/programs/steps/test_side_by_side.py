import asyncio
import os
import threading
from functools import partial
from typing import Any

import dspy
import pytest
from support.patience import PATIENCE
from support.scripted import Function, engine_lm, render

import lms
from programs.blendfilter import BlendFilter
from programs.steps.side_by_side import _Group, _idle, run_in_thread, side_by_side
from retrieval import Memory, Passage


def test_results_come_in_the_order_of_the_calls() -> None:
    quick = threading.Event()

    def slow() -> str:
        assert quick.wait(PATIENCE)
        return "slow"

    assert side_by_side(slow, quick.set, lambda: "text") == ["slow", None, "text"]
    assert side_by_side() == []


def test_the_calls_really_overlap() -> None:
    meeting = threading.Barrier(3, timeout=PATIENCE)
    side_by_side(meeting.wait, meeting.wait, meeting.wait)


def test_the_first_exception_in_argument_order_is_raised_after_all_have_ended() -> None:
    ended = []
    quick = threading.Event()

    def fail_late() -> None:
        assert quick.wait(PATIENCE)
        ended.append("late")
        raise KeyError

    def fail_early() -> None:
        ended.append("early")
        quick.set()
        raise ValueError

    with pytest.raises(KeyError):
        side_by_side(fail_late, fail_early)
    assert ended == ["early", "late"]


def test_no_more_calls_are_under_way_than_the_bound_allows_and_all_are_made() -> None:
    under_way: set[int] = set()
    most: list[int] = []
    meeting = threading.Barrier(4, timeout=PATIENCE)  # the bound is used: four at a time have to meet

    def call(n: int) -> int:
        under_way.add(n)
        most.append(len(under_way))
        meeting.wait()
        under_way.discard(n)
        return n

    assert side_by_side(*(partial(call, n) for n in range(12)), at_most=4) == list(range(12))
    assert max(most) <= 4
    assert side_by_side(at_most=4) == []


def test_ten_thousand_calls_take_no_ten_thousand_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    monkeypatch.setattr("programs.steps.side_by_side._start", begun.append)  # nobody helps the caller
    assert side_by_side(*[lambda: 1] * 10_000) == [1] * 10_000
    assert len(begun) == 63


def test_with_a_bound_calls_begin_and_traces_are_joined_in_argument_order() -> None:
    predict = dspy.Predict("question -> answer")
    begun: list[int] = []
    answered = [threading.Event() for _ in range(6)]

    def ask(n: int) -> str:
        begun.append(n)
        if out_of_order and n % 2 == 0:
            assert answered[n + 1].wait(PATIENCE)
        answer = predict(question=f"q{n}").answer
        answered[n].set()
        return answer

    out_of_order = False
    with dspy.context(lm=engine_lm(Function(lambda system, user: render({"answer": "a"}))), trace=[]):
        side_by_side(*(partial(ask, n) for n in range(6)), at_most=1)
        assert begun == list(range(6))
        out_of_order = True
        for event in answered:
            event.clear()
        side_by_side(*(partial(ask, n) for n in range(6)), at_most=2)
        assert [step[1]["question"] for step in dspy.settings.trace] == [f"q{n}" for n in range(6)] * 2


def test_calls_that_still_wait_for_their_turn_are_not_made_after_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    dropped = threading.Event()

    drop = _Group.drop

    def drop_and_say(group: _Group) -> None:
        drop(group)
        dropped.set()

    def call(name: str) -> None:
        made.append(name)
        assert dropped.wait(PATIENCE)

    def slow_failure() -> None:
        call("slow")
        raise KeyError("slow")

    def quick_failure() -> None:
        raise ValueError("quick")

    monkeypatch.setattr(_Group, "drop", drop_and_say)
    later = (partial(call, f"later {n}") for n in range(20))
    with pytest.raises(KeyError):  # the first in argument order, which had begun and so is waited for
        side_by_side(slow_failure, quick_failure, *later, at_most=2)
    assert made == ["slow"]


def test_what_waits_is_not_made_after_a_failure_in_the_callers_own_thread_either() -> None:
    made: list[str] = []

    def failing() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        side_by_side(failing, partial(made.append, "later"), at_most=1)
    assert made == []


@pytest.mark.parametrize("where", ["wait", "work"])
def test_an_interrupt_is_raised_at_once_and_no_call_begins_after_it(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other thread is in the first call, and two more wait, when the caller is interrupted."""
    began, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    groups: list[_Group] = []
    made: list[int] = []

    def interrupted(group: _Group) -> None:
        groups.append(group)
        assert began.wait(PATIENCE)
        raise KeyboardInterrupt

    def call(number: int) -> None:
        made.append(number)
        began.set()
        assert go_on.wait(PATIENCE)
        ended.set()

    monkeypatch.setattr(_Group, where, interrupted)
    if where == "wait":
        monkeypatch.setattr(_Group, "work", lambda group: None)
    with pytest.raises(KeyboardInterrupt):
        side_by_side(*(partial(call, number) for number in range(3)), at_most=2)
    assert (made, len(groups[0]._waiting), ended.is_set()) == ([0], 0, False)
    go_on.set()
    assert ended.wait(PATIENCE)


def test_an_interrupt_of_the_callers_own_call_is_raised_while_others_are_under_way() -> None:
    both, go_on = threading.Barrier(2, timeout=PATIENCE), threading.Event()

    def call() -> None:
        both.wait()
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        assert go_on.wait(PATIENCE)

    with pytest.raises(KeyboardInterrupt):
        side_by_side(call, call)
    go_on.set()


def test_threads_are_kept_for_the_next_calls() -> None:
    def threads() -> set[int]:
        meeting = threading.Barrier(3, timeout=10)
        return set(side_by_side(*[lambda: (meeting.wait(), threading.get_ident())[1]] * 3))

    first = threads()
    assert len(first) == 3
    assert threading.get_ident() in first  # the caller does not idle
    while len(_idle) < 2:  # a thread is free a moment after its call has ended
        os.sched_yield()
    before = threading.active_count()
    threads()
    assert threading.active_count() <= before


def test_a_thread_that_has_waited_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("programs.steps.side_by_side._IDLE", 0.0)
    seen = side_by_side(threading.current_thread, threading.current_thread)
    for thread in seen:
        if thread is not threading.current_thread():
            thread.join(20)
            assert not thread.is_alive()
    assert side_by_side(lambda: 1, lambda: 2) == [1, 2]


def test_an_interrupt_in_another_thread_is_raised_when_all_have_ended_and_goes_before_other_exceptions() -> None:
    caller, both = threading.current_thread(), threading.Barrier(2, timeout=PATIENCE)
    ended: list[str] = []

    def call() -> None:
        both.wait()
        if threading.current_thread() is not caller:
            raise KeyboardInterrupt
        ended.append("the caller's")
        raise ValueError

    with pytest.raises(KeyboardInterrupt):
        side_by_side(call, call)
    assert ended == ["the caller's"]


def test_settings_of_the_caller_hold_in_the_calls_and_nothing_leaks_back() -> None:
    lm = engine_lm(Function(lambda system, user: render({"answer": "a"})))

    def call() -> object:
        with dspy.context(lm=None):
            return dspy.settings.num_threads

    with dspy.context(lm=lm, num_threads=3):
        assert side_by_side(call, lambda: dspy.settings.lm) == [3, lm]
        assert dspy.settings.lm is lm


def test_traces_are_joined_in_argument_order_also_when_nested() -> None:
    predict = dspy.Predict("question -> answer")

    answered = {question: threading.Event() for question in "abcd"}
    after = {"a": "b", "b": "c", "c": "d"}  # the last is answered first

    def echo(system: str, user: str) -> str:
        question = user.split("[[ ## question ## ]]\n")[1].split("\n")[0]
        assert question == "d" or answered[after[question]].wait(PATIENCE)
        return render({"answer": question})

    def ask(question: str) -> str:
        answer = predict(question=question).answer
        answered[question].set()
        return answer

    with dspy.context(lm=engine_lm(Function(echo)), trace=[]):
        side_by_side(lambda: side_by_side(lambda: ask("a"), lambda: ask("c")), lambda: ask("b"), lambda: ask("d"))
        assert [step[1]["question"] for step in dspy.settings.trace] == ["a", "c", "b", "d"]


def test_without_a_trace_none_is_kept() -> None:
    with dspy.context(trace=None):
        assert side_by_side(lambda: dspy.settings.trace) == [None]


def test_many_awaited_calls_run_at_once() -> None:
    meeting = threading.Barrier(60, timeout=PATIENCE)  # more than the 40 threads that AnyIO lets run by default

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(run_in_thread(meeting.wait) for _ in range(60)))

    assert len(set(asyncio.run(all_of_them()))) == 60


def test_an_awaited_call_sees_the_callers_settings_and_raises_its_error() -> None:
    def fail(message: str) -> None:
        raise LookupError(f"{message} {dspy.settings.num_threads}")

    async def call() -> None:
        with dspy.context(num_threads=5):
            await run_in_thread(fail, "threads:")

    with pytest.raises(LookupError, match="threads: 5"):
        asyncio.run(call())


@pytest.mark.parametrize("is_async", [False, True])
def test_a_program_with_calls_side_by_side_can_be_streamed(is_async: bool) -> None:
    passages = [Passage("1", "Zorx is a planet found by Ada Quill .", "Zorx")]
    stream = dspy.streamify(BlendFilter(Memory(passages)), is_async_program=is_async)

    async def parts() -> list[Any]:
        with dspy.context(lm=lms.load("extractive")):
            return [part async for part in stream(question="Who found the planet Zorx ?")]

    *chunks, last = asyncio.run(parts())
    assert chunks
    assert "Ada Quill" in last.answer
