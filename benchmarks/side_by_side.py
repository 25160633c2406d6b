"""How close one question of each method comes to its sequential depth in LM calls.

    python benchmarks/side_by_side.py [METHOD …]

Every LM call goes to a server on this machine that answers after 200 ms. The depth of a question is the longest chain
of LM calls of which each began when the one before had ended: it is measured, and stands beside what the class
promises. The ratio is wall-clock time over depth times 200 ms: 1.0 is the best there is.
"""

import statistics
import sys
import time
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from stand_in import stand_in

from programs import load, names
from retrieval import load as load_retriever

SECONDS = 0.2
QUESTION = "In what French town was the chemist who discovered samarium born?"
REPEATS = 5


class Timeline(BaseCallback):
    """When each LM call began and ended."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.calls: list[tuple[float, float]] = []

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self.began[call_id] = time.perf_counter()

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        self.calls.append((self.began[call_id], time.perf_counter()))

    def depth(self) -> int:
        """The longest chain of calls that did not overlap."""
        depth, end = 0, float("-inf")
        for began, ended in sorted(self.calls, key=lambda call: call[1]):
            if began >= end:
                depth, end = depth + 1, ended
        return depth


def main(wanted: list[str]) -> None:
    retriever = load_retriever("sample")
    with stand_in(seconds=SECONDS) as api_base:
        # A model that DSPy has a price for: for one it does not know it searches its whole list at every call.
        lm = dspy.LM("openai/gpt-4o-mini", api_base=api_base, api_key="none", cache=False)
        print(f"{'method':20} {'calls':>5} {'depth':>5} {'seconds':>8} {'ratio':>6}   (medians of {REPEATS})")
        for name in wanted or names():
            program = load(name)(retriever)
            with dspy.context(lm=lm):
                program(question=QUESTION)  # connections and imports
            seconds, timelines = [], []
            for _ in range(REPEATS):
                timeline = Timeline()
                with dspy.context(lm=lm, callbacks=[timeline]):
                    started = time.perf_counter()
                    program(question=QUESTION)
                    seconds.append(time.perf_counter() - started)
                timelines.append(timeline)
            wall, depth = statistics.median(seconds), timelines[0].depth()
            calls = len(timelines[0].calls)
            print(f"{name:20} {calls:5} {depth:5} {wall:8.3f} {wall / (depth * SECONDS):6.3f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
