from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from support.scripted import Function, engine_lm, render

from programs.instruments.watching import watching


class Watcher(BaseCallback):
    def __init__(self, name: str, seen: list[str]) -> None:
        self.name = name
        self.seen = seen

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.seen.append(f"{self.name}: LM")

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        self.seen.append(f"{self.name}: end of LM")

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.seen.append(f"{self.name}: module")

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        self.seen.append(f"{self.name}: end of module")


def test_watchers_are_told_in_turn_and_dspy_knows_of_one_callback_beside_the_users() -> None:
    seen: list[str] = []
    user = Watcher("user", [])
    lm = engine_lm(Function(lambda system, user: render({"answer": "a"})))
    with dspy.context(lm=lm, callbacks=[user]):
        with watching(Watcher("outer", seen)):
            with watching(Watcher("inner", seen)):
                assert len(dspy.settings.callbacks) == 2
                dspy.Predict("question -> answer")(question="q")
            lm("q")
        assert dspy.settings.callbacks == [user]
    events = ["module", "LM", "end of LM", "end of module"]
    assert seen == [f"{name}: {event}" for event in events for name in ("outer", "inner")] + [
        "outer: LM", "outer: end of LM"
    ]  # fmt: skip
    assert len(user.seen) == 6
