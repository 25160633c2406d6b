from collections.abc import Callable
from typing import Any

import dspy
import pytest
from support.scripted import Function, engine_lm, render

from odqa.bridge import Call, Watcher, bound, unbound, watching
from programs.steps.ask import ask, chain_of_thought


class Told(Watcher):
    def __init__(self, name: str, seen: list[str]) -> None:
        self.name = name
        self.seen = seen

    def on_unparsable(self) -> None:
        self.seen.append(f"{self.name}: unparsable")

    def on_call_start(self, call: Call) -> None:
        self.seen.append(f"{self.name}: LM")

    def on_call_end(self, call: Call) -> None:
        self.seen.append(f"{self.name}: end of LM")

    def on_unbound(self, lm: Any) -> None:
        self.seen.append(f"{self.name}: {lm.model} past the boundary")

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.seen.append(f"{self.name}: module")

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        self.seen.append(f"{self.name}: end of module")


def test_watchers_are_told_in_turn_and_dspy_knows_of_one_callback_beside_the_users() -> None:
    seen: list[str] = []
    user = Told("user", [])
    lm = engine_lm(Function(lambda system, user: render({"answer": "a"})))
    with dspy.context(lm=lm, callbacks=[user]):
        with watching(Told("outer", seen)):
            with watching(Told("inner", seen)):
                assert len(dspy.settings.callbacks) == 2
                dspy.Predict("question -> answer")(question="q")
            bound(lm)("q")
            lm("q")
        assert dspy.settings.callbacks == [user]
    events = [("module", "outer inner"), ("LM", "outer inner"), ("end of LM", "inner outer")]
    events += [("end of module", "outer inner"), ("LM", "outer"), ("end of LM", "outer")]
    events += [("test/scripted past the boundary", "outer")]
    assert seen == [f"{name}: {event}" for event, names in events for name in names.split()]
    assert sorted({*user.seen}) == ["user: end of module", "user: module"]


@pytest.mark.parametrize("make", [dspy.Predict, chain_of_thought])
def test_a_predictor_that_is_asked_announces_its_lm_calls_alone_and_all_to_users(
    make: Callable[[type[dspy.Signature]], dspy.Module],
) -> None:
    seen: list[str] = []
    user, replies = Told("user", []), ["no", "no", render({"answer": "a", "title": "t"})]
    lm = engine_lm(Function(lambda system, user: replies.pop(0)))
    predictor = make(dspy.Signature("question -> answer, title"))
    with dspy.context(lm=lm, callbacks=[user]), watching(Told("watcher", seen)):
        assert ask(predictor, question="q").answer is None
        call = ["watcher: LM", "watcher: end of LM"]
        assert seen == [*call, *call, "watcher: unparsable"]
        seen.clear()
        assert ask(predictor, question="q").answer == "a"
        assert unbound(dspy.settings.lm) is lm
    assert seen == call
    assert sorted({*user.seen}) == ["user: end of module", "user: module"]
    assert (len(lm.history), len(predictor.history), lm.callbacks) == (3, 3, [])


def test_a_predictor_with_an_lm_of_its_own_is_seen_too() -> None:
    seen: list[str] = []
    predictor = dspy.Predict("question -> answer")
    predictor.lm = engine_lm(Function(lambda system, user: render({"answer": "a"})))
    with watching(Told("watcher", seen)):
        ask(predictor, question="q")
    assert seen == ["watcher: LM", "watcher: end of LM"]
