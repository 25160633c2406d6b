import asyncio
import threading
import time

import dspy
import pytest
from scripted import Function, engine_lm, render

from programs._parallel import in_thread, side_by_side


def test_results_come_in_the_order_of_the_calls() -> None:
    def after(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    assert side_by_side(lambda: after(0.05), lambda: after(0.0), lambda: "text") == [0.05, 0.0, "text"]
    assert side_by_side() == []


def test_the_calls_really_overlap() -> None:
    meeting = threading.Barrier(3, timeout=10)
    side_by_side(meeting.wait, meeting.wait, meeting.wait)


def test_the_first_exception_in_argument_order_is_raised_after_all_have_ended() -> None:
    ended = []

    def fail(error: Exception, seconds: float) -> None:
        time.sleep(seconds)
        ended.append(error)
        raise error

    first, second = KeyError("slow"), ValueError("quick")
    with pytest.raises(KeyError):
        side_by_side(lambda: fail(first, 0.05), lambda: fail(second, 0.0))
    assert ended == [second, first]


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

    def echo(system: str, user: str) -> str:
        question = user.split("[[ ## question ## ]]\n")[1].split("\n")[0]
        time.sleep({"a": 0.06, "b": 0.03}.get(question, 0))
        return render({"answer": question})

    def ask(question: str) -> str:
        return predict(question=question).answer

    with dspy.context(lm=engine_lm(Function(echo)), trace=[]):
        side_by_side(lambda: side_by_side(lambda: ask("a"), lambda: ask("c")), lambda: ask("b"), lambda: ask("d"))
        assert [step[1]["question"] for step in dspy.settings.trace] == ["a", "c", "b", "d"]


def test_without_a_trace_none_is_kept() -> None:
    with dspy.context(trace=None):
        assert side_by_side(lambda: dspy.settings.trace) == [None]


def test_many_awaited_calls_run_at_once() -> None:
    meeting = threading.Barrier(40, timeout=10)

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*(in_thread(meeting.wait) for _ in range(40)))

    assert len(set(asyncio.run(all_of_them()))) == 40


def test_an_awaited_call_sees_the_callers_settings_and_raises_its_error() -> None:
    def fail(message: str) -> None:
        raise LookupError(f"{message} {dspy.settings.num_threads}")

    async def call() -> None:
        with dspy.context(num_threads=5):
            await in_thread(fail, "threads:")

    with pytest.raises(LookupError, match="threads: 5"):
        asyncio.run(call())
