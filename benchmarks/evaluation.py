"""A run beside dspy.Evaluate, beside DSPy's own calls one after the other, and beside the ideal.

    python benchmarks/evaluation.py [--program blendfilter] [--questions 200] [--seconds 0.3] [--in-flight 64]
    python benchmarks/evaluation.py --questions 800 --seconds 0.2 --in-flight 256 --workers 1 2 --rounds 1
    python benchmarks/evaluation.py --small

Every LM call goes to a server on this machine that answers after that time. All take turns, for what else the machine
does to slow down all alike: compare rows of one run only.

calls one by one   the LM calls of a question, each by a dspy.Predict with DSPy's own ChatAdapter and the same prompt:
                   same instructions, fields and inputs, plain types; one after the other, cache off, nothing recorded
calls, no waiting  the same, from an LM that answers at once: a processor that has waited finds its caches cold, so that
                   the same call takes up to twice the CPU
program            the program in a loop, from that LM too: with its searches, nothing recorded
dspy.Evaluate      as many threads as calls in flight, exact match
run                `eval.runs.runner.evaluate`: records, accounts, standard metrics; no more calls in flight than that
run, N workers     the same in N processes on Ray; the CPU is that of the process that was started

dspy.Evaluate bounds the questions in flight and not the calls: where methods make calls side by side, it has more calls
in flight than the run, and may be faster than the ideal.

CPU is that of this process, per LM call. The ideal time is calls times seconds, divided by the calls in flight. Calls a
second of a run are those between a quarter and three quarters of its calls, so without its beginning and its end.
"""

import argparse
import logging
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.callback import BaseCallback
from measuring import Timer, header, row
from stand_in import MODEL, stand_in

from eval.metrics import STANDARD, em
from eval.runs.runner import evaluate
from eval.tasks import load as load_task
from odqa.cluster import Workers
from programs import load
from retrieval import load as load_retriever

ALONE = 400  # calls, or at least so many, of the loops that have one call in flight
ALONE_WAITING = 60  # the same where each call takes its time


class Prompts(BaseCallback):
    """What each prompt is made of: a signature with plain types, and inputs."""

    def __init__(self) -> None:
        self.calls: list[tuple[dspy.Predict, dict[str, Any]]] = []
        self._predictors: dict[type[dspy.Signature], dspy.Predict] = {}
        self._begun = threading.local()

    def on_adapter_format_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self._begun.last = inputs

    def on_adapter_format_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        if self._begun.last is not None:  # of adapters inside each other the last to begin has the plain types
            signature = self._begun.last["signature"]
            predictor = self._predictors.setdefault(signature, dspy.Predict(signature))
            self.calls.append((predictor, self._begun.last["inputs"]))
            self._begun.last = None


@contextmanager
def arriving(path: Path) -> Iterator[list[tuple[float, int]]]:
    """How many lines the file has by which time, read while the block runs."""
    counted: list[tuple[float, int]] = [(time.perf_counter(), 0)]
    ended = threading.Event()

    def count() -> None:
        offset = 0
        while not ended.wait(0.1):
            if path.exists():
                with path.open("rb") as file:
                    file.seek(offset)
                    read = file.read()
                offset += len(read)
                counted.append((time.perf_counter(), counted[-1][1] + read.count(b"\n")))

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield counted
    finally:
        ended.set()
        thread.join()


def rate(counted: list[tuple[float, int]]) -> float:
    """Lines per second between a quarter and three quarters of the lines."""
    last = counted[-1][1]
    begin = next(entry for entry in counted if entry[1] >= last / 4)
    end = next(entry for entry in counted if entry[1] >= 3 * last / 4)
    return (end[1] - begin[1]) / (end[0] - begin[0]) if end[0] > begin[0] else float("nan")


class Rounds:
    """What takes turns: each way to make LM calls gives how many it made.

    Args:
        arguments: Those of the command line.
        address: The stand-in's for an LM.
    """

    def __init__(self, arguments: argparse.Namespace, address: str) -> None:
        self.arguments, self.address = arguments, address
        self.rates: list[float] = []  # calls a second in the middle of each run
        self.program = load(arguments.program)(load_retriever("sample"))
        known = load_task("sample")
        self.examples = [
            dspy.Example(example, id=str(n)).with_inputs("question")
            for n, example in enumerate(islice(cycle(known), arguments.questions))
        ]
        prompts = Prompts()
        with dspy.context(lm=self.lm(0), callbacks=[prompts]):  # the server learns all replies
            for example in known:
                self.program(question=example.question)
        self.prompts, self.per_question = prompts.calls, len(prompts.calls) / len(known)

    def lm(self, seconds: float) -> dspy.LM:
        return dspy.LM(MODEL, api_base=f"{self.address}/{seconds}", api_key="none", cache=False)

    def calls(self, seconds: float, count: int) -> float:
        with dspy.context(lm=self.lm(seconds), adapter=dspy.ChatAdapter()):
            for predictor, fields in islice(cycle(self.prompts), count):
                predictor(**fields)
        return count

    def loop(self) -> float:
        few = self.examples[: max(1, round(ALONE / self.per_question))]
        with dspy.context(lm=self.lm(0)):
            for example in few:
                self.program(question=example.question)
        return self.per_question * len(few)

    def peer(self) -> float:
        settings = {"num_threads": self.arguments.in_flight, "display_progress": False, "max_errors": 1}
        with dspy.context(lm=self.lm(self.arguments.seconds)):
            dspy.Evaluate(devset=self.examples, metric=em, **settings)(self.program)
        return self.per_question * len(self.examples)

    def run(self, workers: int | None = None) -> float:
        with (
            tempfile.TemporaryDirectory() as directory,
            dspy.context(lm=self.lm(self.arguments.seconds)),
            arriving(Path(directory) / "run" / "calls.jsonl") as arrivals,
        ):
            summary = evaluate(
                self.program,
                self.examples,
                metrics=STANDARD,
                directory=Path(directory) / "run",
                threads=self.arguments.in_flight,
                lm_calls=self.arguments.in_flight,
                workers=None if workers is None else Workers(workers),
            )
        assert summary.total.failed == 0
        self.rates.append(rate(arrivals))
        return summary.total.cost["lm_calls"] * len(self.examples)


def main(arguments: argparse.Namespace) -> None:
    with stand_in() as address:
        rounds = Rounds(arguments, address)
        ways: dict[str, Callable[[], float]] = {
            "calls one by one": partial(rounds.calls, arguments.seconds, ALONE_WAITING),
            "calls, no waiting": partial(rounds.calls, 0, ALONE),
            "program": rounds.loop,
            "dspy.Evaluate": rounds.peer,
            "run": rounds.run,
        }
        ways |= {f"run, {workers} workers": partial(rounds.run, workers) for workers in arguments.workers}
        cpu: dict[str, list[float]] = {name: [] for name in ways}
        header("", "calls", "CPU ms/call", "beside plain", "seconds", "ideal", "share", "calls/s")
        for _ in range(arguments.rounds):
            for name, measure in ways.items():
                timer = Timer()
                made = measure()
                seconds, each = timer.wall, 1000 * timer.cpu / made
                cpu[name].append(each)
                cells: list[object] = [round(made), each, each / cpu["calls one by one"][-1]]
                if name == "dspy.Evaluate" or name.startswith("run"):
                    ideal = made * arguments.seconds / arguments.in_flight
                    cells += [seconds, ideal, ideal / seconds]
                if name.startswith("run"):
                    cells.append(rounds.rates[-1])
                row(name, *cells, *[""] * (7 - len(cells)))
        medians = {name: statistics.median(values) for name, values in cpu.items()}
        said = ", ".join(f"{name} {value / medians['calls one by one']:.2f}" for name, value in medians.items())
        print(f"CPU per call beside calls one by one, medians: {said}")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description="A run beside dspy.Evaluate and the ideal.")
    parser.add_argument("--program", default="blendfilter")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0.3, help="per LM call (default: %(default)s)")
    parser.add_argument("--in-flight", type=int, default=64, help="LM calls at once (default: %(default)s)")
    parser.add_argument("--workers", type=int, nargs="+", default=[], help="also runs in so many processes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="one short round, in half a minute")
    arguments = parser.parse_args()
    if arguments.small:
        arguments.questions, arguments.seconds, arguments.in_flight, arguments.rounds = 60, 0.1, 16, 1
    main(arguments)
