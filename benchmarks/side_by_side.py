"""How close one question of each method comes to its sequential depth in LM calls.

    python benchmarks/side_by_side.py [--seconds 0.2] [METHOD …]
    python benchmarks/side_by_side.py --small

Every LM call goes to a server on this machine that answers after that time. The depth of a question is the longest
chain of LM calls of which each began when the one before had ended: it is measured, and stands beside what the class
promises. The ratio is wall-clock time over depth times the seconds: 1.0 is the best there is.

The CPU is that of this process. Python runs one thread at a time, so on an idle machine the ratio lies below 1 plus the
CPU over depth times the seconds, which is the last column: on a busy machine it says more than the ratio.
"""

import argparse
import statistics
import time

import dspy
from measuring import Timer, header, row
from stand_in import MODEL, stand_in

from odqa.bridge import Call, Watcher, watching
from programs import load, names
from retrieval import load as load_retriever

QUESTION = "In what French town was the chemist who discovered samarium born?"
REPEATS = 5


class Timeline(Watcher):
    """When each LM call began and ended."""

    def __init__(self) -> None:
        self.began: dict[str, float] = {}
        self.calls: list[tuple[float, float]] = []

    def on_call_start(self, call: Call) -> None:
        self.began[call.id] = time.perf_counter()

    def on_call_end(self, call: Call) -> None:
        self.calls.append((self.began[call.id], time.perf_counter()))

    def depth(self) -> int:
        """The longest chain of calls that did not overlap."""
        depth, end = 0, float("-inf")
        for began, ended in sorted(self.calls, key=lambda call: call[1]):
            if began >= end:
                depth, end = depth + 1, ended
        return depth


def main(wanted: list[str], seconds_per_call: float) -> None:
    retriever = load_retriever("sample")
    with stand_in() as address:
        lm = dspy.LM(MODEL, api_base=f"{address}/{seconds_per_call}", api_key="none", cache=False)
        print(f"medians of {REPEATS}")
        header("method", "calls", "depth", "seconds", "ratio", "CPU ms", "ms/call", "bound")
        for name in wanted or names():
            program = load(name)(retriever)
            with dspy.context(lm=lm):
                program(question=QUESTION)  # connections and imports
            seconds, spent, timelines = [], [], []
            for _ in range(REPEATS):
                timeline = Timeline()
                with watching(timeline, lm=lm):
                    timer = Timer()
                    program(question=QUESTION)
                    seconds.append(timer.wall)
                    spent.append(timer.cpu)
                timelines.append(timeline)
            wall, cpu, depth = statistics.median(seconds), statistics.median(spent), timelines[0].depth()
            calls, least = len(timelines[0].calls), depth * seconds_per_call
            ratio, bound = f"{wall / least:.3f}", f"{1 + cpu / least:.3f}"
            row(name, calls, depth, f"{wall:.3f}", ratio, 1000 * cpu, 1000 * cpu / calls, bound)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="One question of each method, beside its depth.")
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="default: all")
    parser.add_argument("--seconds", type=float, default=0.2, help="per LM call (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="three methods, in half a minute")
    arguments = parser.parse_args()
    main(["blendfilter", "sure", "cot"] if arguments.small else arguments.methods, arguments.seconds)
