"""A local model beside llama.cpp's own rates of the same file, and what methods read and wait for with it.

    python benchmarks/local_model.py MODEL.gguf [--program blendfilter ircot] [--retriever SPEC --task TASK]

rates        tokens of a prompt read and of a reply written per second of the processor, with one thread: by llama.cpp
             asked for a completion without any form, beside a call of DSPy's engine, plain and by schema, of the same
             model; to the first token, and from there to the last. In turns; medians, and those of each turn's ratios.
beginnings   three calls over one new beginning, side by side and one after the other, by calls computed at the same
             time: seconds of the processor, with one thread.
methods      per question: seconds, calls, tokens of prompts, the share of them that was not computed again because an
             earlier prompt began with them, tokens of replies; and unparsable replies.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import dspy
from dspy.lm15 import Config, Message, Request, Usage
from measuring import Timer, header, row

import lms
import programs
from eval.tasks import load as load_tasks
from programs.instruments.adapters import load_adapter
from programs.instruments.cost import measured
from retrieval import load as load_retriever

WORDS = [
    "river",
    "mountain",
    "town",
    "harbour",
    "painter",
    "composer",
    "railway",
    "bridge",
    "castle",
    "valley",
    "winter",
]
SCHEMA = {
    "type": "object",
    "properties": {"story": {"type": "string"}},
    "required": ["story"],
    "additionalProperties": False,
}
READ, WRITTEN = 500, 64  # tokens, about


def text(*seed: Any, words: int = READ - 50) -> str:
    """Words that no other seed begins with."""
    drawn = random.Random(repr(seed))
    return " ".join(drawn.choice(WORDS) for _ in range(words))


class Clock:
    """Seconds of this process's processor, to the first token and from there to the last."""

    def __init__(self) -> None:
        self.begun = self.first = self.last = time.process_time()
        self.tokens = 0

    def token(self) -> None:
        self.last = time.process_time()
        self.first = self.last if not self.tokens else self.first
        self.tokens += 1

    def rates(self, read: int) -> tuple[float, float]:
        return read / (self.first - self.begun), (self.tokens - 1) / (self.last - self.first)


def raw(lm: dspy.LM, prompt: str) -> tuple[float, float]:
    """Tokens read and written a second by llama.cpp itself."""
    clock, chunks = Clock(), []

    def take(chunk: dict[str, Any]) -> None:
        clock.token()
        chunks.append(chunk)

    body = {"prompt": prompt, "n_predict": WRITTEN, "temperature": 0.0, "ignore_eos": True, "stream": True}
    lm.engine._model()._server.handle_completions(body, take)
    return clock.rates(chunks[-1]["timings"]["prompt_n"])


def ours(lm: dspy.LM, prompt: str, **config: Any) -> tuple[float, float]:
    """The same for a call of DSPy's engine."""
    asked = f"{prompt}\nWrite a long story with these words, as JSON with the one field story."
    request = Request(model=lm.model, messages=(Message.user(asked),), config=Config(max_tokens=WRITTEN, **config))
    clock, usage = Clock(), Usage()
    for event in lm.engine.stream(request):
        if event.type == "delta":
            clock.token()
        elif event.type == "end":
            usage = event.usage
    return clock.rates((usage.input_tokens or 0) - (usage.cache_read_tokens or 0))


def rates(lm: dspy.LM, rounds: int) -> None:
    ways: dict[str, Callable[..., tuple[float, float]]] = {
        "llama.cpp": raw,
        "call": ours,
        "call by schema": partial(ours, response_format={"type": "json_schema", "schema": SCHEMA}),
    }
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    raw(lm, text("warm", words=20))
    for number in range(rounds):
        for way, ask in ways.items():
            found[way].append(ask(lm, text(number, way)))
    print()
    header("tokens a second", "read", "beside llama.cpp", "written", "beside llama.cpp")
    for way, own in found.items():
        turns = list(zip(own, found["llama.cpp"], strict=True))
        cells: list[float] = []
        for n in (0, 1):
            cells += [statistics.median(each[n] for each in own), statistics.median(a[n] / b[n] for a, b in turns)]
        row(way, *cells)


def beginnings(spec: str, rounds: int) -> None:
    print()
    header("calls at the same time", "one after the other, s", "side by side, s", "ratio")
    for parallel in (1, 2, 3):
        lm = lms.load(spec, parallel=parallel, threads=1, max_tokens=20, temperature=0.0, cache=False)
        took: list[tuple[float, float]] = []
        for number in range(rounds):
            pair = []
            for at_once in (1, 3):
                beginning = text(parallel, number, at_once, words=300)
                timer = Timer()
                with ThreadPoolExecutor(at_once) as pool:
                    list(pool.map(lm, [f"{beginning} Tell me about number {n}." for n in range(3)]))
                pair.append(timer.cpu)
            took.append((pair[0], pair[1]))
        alone, together = (statistics.median(pair[n] for pair in took) for n in (0, 1))
        ratio = statistics.median(pair[1] / pair[0] for pair in took)
        row(parallel, alone, together, ratio)


def methods(lm: dspy.LM, names: Sequence[str], retriever: str, examples: Sequence[dspy.Example]) -> None:
    print()
    header("method", "s per question", "calls", "tokens in", "not computed again", "tokens out", "unparsable")
    for name in names:
        program = programs.load(name)(load_retriever(retriever))
        lm.history.clear()
        timer = Timer()
        with dspy.context(lm=lm, adapter=load_adapter("json")), measured() as cost:
            for example in examples:
                program(question=example.question)
        seconds, n = timer.wall, len(examples)
        kept = sum(record["response"].usage.cache_read_tokens for record in lm.history) / cost.input_tokens
        tokens = f"{cost.input_tokens / n:.0f}", kept, f"{cost.output_tokens / n:.0f}"
        row(name, seconds / n, cost.lm_calls / n, *tokens, cost.unparsable)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--program", nargs="*", default=["direct", "blendfilter", "ircot"])
    parser.add_argument("--retriever", default="sample")
    parser.add_argument("--task", default="sample")
    parser.add_argument("--questions", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    spec = f"gguf:{arguments.model}"
    if arguments.rounds:
        rates(lms.load(spec, prompts=1, threads=1, temperature=0.0, cache=False), arguments.rounds)
        beginnings(spec, arguments.rounds)
    lm = lms.load(spec, threads=arguments.threads, temperature=0.0, cache=False)
    methods(lm, arguments.program, arguments.retriever, load_tasks(arguments.task, arguments.questions))


if __name__ == "__main__":
    main()
