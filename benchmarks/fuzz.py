"""Every program under hostile replies: how many were read, what escaped, and how long the slowest took.

    python benchmarks/fuzz.py [--replies 10000] [--seed 0] [--only PROGRAM …] [--adapter chat]
    python benchmarks/fuzz.py --pairs --adapter chat --minutes 5
    python benchmarks/fuzz.py --attack passages indexes stdio [--minutes 1] [--seed 0]

An LM stand-in answers each call of every program, in turns, with a reply drawn by the seed: mostly in the form that
the prompt asks for, with odd values in its fields, else out of all form. Values are random texts; markers, tags,
headings and chat templates; JSON, XML and tables that are nested or never closed; numbers of 5,000 digits; and, as the
share --long says, 100,000 characters of one character or short pattern, between two others. Each adapter gets at least
--replies. With --pairs every reply is long, and the patterns are all pairs of the short ones, each once.

Counted are the replies; the questions; the escapes, questions that end in another exception than DSPy's for a reply
that cannot be read; the share of calls whose reply was unparsable; and the CPU time from a reply to the next call of
the program, in which it is read and the next question is asked: the slowest, and how many are above half a second. It
fails if anything escaped or was that slow.

The other attacks fail at the first thing that is not as promised. `passages`: each of a hundred passages that give
orders is all that each program finds, under each adapter, and an LM that obeys whatever a prompt's form tells it gets
none. `indexes`: one place of an index of BM25, or of its shards, is damaged, which its checksums see, and which a
search says in one line or answers. `stdio`: lines that are no messages or bad ones, cut and joined anew, and the next
request is answered. Each prints how often it was tried in --minutes.
"""

import argparse
import gc
import json
import math
import random
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, product
from itertools import count as numbers
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import dspy
from dspy.utils.exceptions import AdapterParseError
from support.damaged_indexes import attacked
from support.hostile_passages import HOSTILE_PASSAGES, OBEYED, Obedient
from support.meant_replies import SETTINGS
from support.prompt_reading import wanted
from support.scripted import Function, engine_lm, render
from support.stdio import HANDSHAKE, HOSTILE_LINES, line, over_stdio
from support.word_passages import PASSAGES

from programs import load, names
from programs.instruments.cost import measured
from retrieval import Memory, Passage
from retrieval import load as load_retriever
from retrieval.bm25 import BM25
from retrieval.shards import split
from signatures.adapters import ChatAdapter, JSONAdapter, XMLAdapter

ADAPTERS: dict[str, Callable[[], dspy.Adapter]] = {"chat": ChatAdapter, "json": JSONAdapter, "xml": XMLAdapter}
SLOW = 0.5  # seconds of CPU that reading a reply may take
LONG = 100_000  # characters
QUESTION = "Who found the planet Zorx, and where was she born?"
RETRIEVER = Memory(
    [
        Passage("1", "Zorx is a planet found in 2190 by Ada Quill.", "Zorx"),
        Passage("2", "Ada Quill was born in Lund in 2151. She found Zorx, and no other planet.", "Ada Quill"),
        Passage("3", "Lund is a city in Sweden. It has a university and an observatory.", "Lund"),
    ]
)

PATTERNS = [
    *map(chr, range(32, 127)), *"\t\n\r\0\x1b\x85\u2028\u200b\u202e\ufeff\ud800\U0001f600中٣é①",
    '{"', '["', "[[", "{{", "}]", '{"a":', '":"', "[1,", "1,", "- ", "1. ", "\\n", '\\"', "\\u", "a ", "a. ",
    "A. ",
    "yes ", "no ", "not ", "[1] ", "[1-", "(1)", "and ", "[[ ## ", "[[ ## answer ## ]]\n", "## ", "**", "**a",
    "```", "```json\n",
    "<think>", "</think>", "<a>", "</a>", "<a", "<answer>", "&lt;", "&#", "<!--", "<![CDATA[", "| ", "|-",
    "|a|\n|-|\n",
    "\\boxed{", "\n\n", "\n ", " \n", "a\n", "Answer: ", "Question: ", "Passage 1: ", "Note: ", "1-", "9-1 ",
    "(a | b | c)\n",
    "e\u0301", "ab", "a,", "'a' ", "So the answer is: ", "Follow up: ", "search[", "[NONE]",
]  # fmt: skip
PIECES = [
    *PATTERNS, "Ada Quill", "Zorx", "[[ ## completed ## ]]", '{"answer": "Lund"}', '"reasoning": null', "None",
    "true", "-1e999", "NaN",
    "9" * 5000, "0x" + "f" * 300, "1/0", "<|im_end|>", "[INST]", "| a | b |\n| --- | --- |\n| 1 | yes |",
    "]]>", "<answer>Lund</answer>",
    "[1][2][99]", "passages 1 to 999999999", "{1}" * 40, "[" * 3000, '{"a":' * 1500, "<b>" * 1500, "search",
    "finish", "\ufffe\uffff",
]  # fmt: skip


@dataclass
class Count:
    """What was seen under one adapter."""

    replies: int = 0
    long: int = 0
    questions: int = 0
    unread: int = 0  # questions that ended because a reply could not be read
    calls: int = 0
    unparsable: int = 0
    seconds: list[tuple[float, str]] = field(default_factory=list)  # of CPU, and the reply that was read
    escapes: Counter[str] = field(default_factory=Counter)


class Fuzzer:
    """The LM stand-in."""

    def __init__(self, random_: random.Random, count: Count, long: float, patterns: list[str]) -> None:
        self.random, self.count, self.long, self.patterns = random_, count, long, patterns
        self.program = self.last = ""
        self.since = 0.0
        self.lock = threading.Lock()  # programs ask side by side

    def reply(self, system: str, user: str) -> str:
        with self.lock:
            return self.drawn(user)

    def drawn(self, user: str) -> str:
        self.read()
        self.count.replies += 1
        names_ = wanted(user)
        is_long = self.random.random() < self.long
        self.count.long += is_long
        text = self.in_form(user, names_, is_long) if self.random.random() < 0.7 else self.value(is_long)
        self.last = f"{self.program}: {len(text):,} characters, {text[:60]!r} … {text[-30:]!r}"
        self.since = time.process_time()
        return text

    def read(self) -> None:
        """The last reply is read: note how long that took."""
        if self.last:
            self.count.seconds.append((time.process_time() - self.since, self.last))
            self.last = ""

    def in_form(self, user: str, names_: list[str], is_long: bool) -> str:
        """A reply in the form that is asked for, sometimes cut off, with a field left out, or with fields twice."""
        long = self.random.choice(names_) if names_ and is_long else None
        fields = {name: self.value(name == long) for name in names_ if self.random.random() < 0.95}
        if "JSON object" in user:
            values = {name: self.shaped(value) for name, value in fields.items()}
            text = json.dumps(values, ensure_ascii=self.random.random() < 0.5)
        elif "XML tags" in user:
            escaped = self.random.random() < 0.5
            text = "\n".join(f"<{n}>\n{escape(v) if escaped else v}\n</{n}>" for n, v in fields.items())
        else:
            text = render(fields)
        kind = self.random.randrange(10)
        if kind == 0:
            text = text[: self.random.randrange(len(text) + 1)]
        elif kind == 1:
            text += text
        return text

    def shaped(self, value: str) -> object:
        """The value as one of the things that JSON holds."""
        deep: object = value
        match self.random.randrange(8):
            case 0:
                return [value, 1, None, [value]]
            case 1:
                return {value[:20]: value, "passages": [1, "2", value[:9]]}
            case 2:
                return self.random.choice([None, True, -1, 10**300, 1e308, [], {}, 0.5, 10**4000])
            case 3:
                for _ in range(self.random.choice([3, 50])):
                    deep = [deep]
        return deep

    def value(self, is_long: bool) -> str:
        if is_long:
            ends = self.random.choices(["", *PIECES], k=2)
            drawn = "".join(self.random.choices(PATTERNS, k=self.random.choice([1, 1, 2, 3, 5])))
            pattern = self.patterns.pop() if self.patterns else drawn
            return ends[0] + (pattern * LONG)[:LONG] + ends[1]
        match self.random.randrange(4):
            case 0:
                return "".join(self.random.choices(PIECES, k=self.random.randrange(8)))
            case 1:
                return self.random.choice(PATTERNS) * self.random.randrange(300)
            case 2:
                points = [self.random.randrange(0x110000) for _ in range(self.random.randrange(60))]
                return "".join(map(chr, points))
        return self.random.choice(
            ["yes", "no", "1", "[1, 2]", "Lund", "search", "Who is Ada Quill?", "[1] It is so.", ""]
        )


def fuzz(
    adapter: str,
    programs: list[str],
    *,
    replies: int,
    seed: int,
    long: float,
    patterns: list[str] | None = None,
    minutes: float = math.inf,
) -> Count:
    """Ask the programs in turns until there were so many replies, each was asked once, and no patterns are left.

    Args:
        adapter: The name of DSPy's adapter.
        programs: Their names.
        replies: How many, at least.
        seed: Draws the replies.
        long: The share of long replies.
        patterns: Those of the first long replies, from the last; they are taken out of it.
        minutes: After which it ends in any case.
    """
    count, end, patterns = Count(), time.monotonic() + 60 * minutes, patterns or []
    fuzzer = Fuzzer(random.Random(f"{seed} {adapter}"), count, long, patterns)
    made = {name: load(name)(RETRIEVER, **SETTINGS.get(name, {})) for name in programs}
    gc.collect()
    gc.freeze()  # what is there already is not gone through again: that took 0.3 s, in the time of whichever reply
    lm = engine_lm(Function(fuzzer.reply))
    with dspy.context(lm=lm, adapter=ADAPTERS[adapter](), disable_history=True):  # it would hold gigabytes
        while (count.replies < replies or patterns) and time.monotonic() < end:
            for fuzzer.program, program in made.items():
                ask(program, fuzzer, count)
    return count


def ask(program: dspy.Module, fuzzer: Fuzzer, count: Count) -> None:
    count.questions += 1
    with measured() as cost:
        try:
            program(question=QUESTION)
        except AdapterParseError:
            count.unread += 1
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            count.escapes[f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {fuzzer.last}"] += 1
        fuzzer.read()
    count.calls += cost.lm_calls
    count.unparsable += cost.unparsable


def passages(seed: int, end: float, only: list[str]) -> str:
    """Each hostile passage for each program under each adapter, in an order drawn by the seed."""
    tried = list(product(HOSTILE_PASSAGES, only, ADAPTERS))
    random.Random(seed).shuffle(tried)
    for number, (passage, name, adapter) in enumerate(tried):
        if time.monotonic() > end:
            return f"{number:,} of {len(tried):,} triples of passage, program and adapter"
        lm = Obedient(number)
        with dspy.context(lm=engine_lm(lm), adapter=ADAPTERS[adapter]()):
            answer = load(name)(Memory([passage]), **SETTINGS.get(name, {}))(question=QUESTION).answer
        if lm.orders or answer == OBEYED:
            raise AssertionError(f"{name} under {adapter} obeys {passage!r}")
    return f"all {len(tried):,} triples of passage, program and adapter"


def indexes(seed: int, end: float, only: list[str]) -> str:
    """BM25's index and its shards, with one damage at a time."""
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory)
        BM25.build(PASSAGES, made / "bm25")
        split(BM25(made / "bm25"), made / "shards", 2)
        kinds = "bm25", "shards"
        for number in numbers():
            for kind in kinds:
                attacked(
                    made / kind,
                    made / "work",
                    lambda path, kind=kind: load_retriever(f"{kind}:{path}"),
                    times=20,
                    seed=1000 * seed + number,
                )
            if time.monotonic() > end:
                return f"{20 * (number + 1):,} damages of each of {' and '.join(kinds)}"
    raise AssertionError


def stdio(seed: int, end: float, only: list[str]) -> str:
    """Bad lines, cut and joined anew, each time with a good one behind them."""
    chance, lines = random.Random(seed), list(HOSTILE_LINES.values())
    with over_stdio() as (_, to, answers):
        to.write(HANDSHAKE)
        for number in numbers(100):
            if time.monotonic() > end:
                return f"{number - 100:,} blocks of lines"
            parts = [part[: chance.randrange(len(part) + 1)] for part in chance.choices(lines, k=chance.randint(1, 3))]
            to.write(b"".join(parts) + b"\n" + line(id=number, method="tools/list"))
            to.flush()
            if not any(json.loads(answer).get("id") == number for answer in answers):
                raise AssertionError(f"no answer after {[part[:80] for part in parts]}")
    raise AssertionError


ATTACKS: dict[str, Callable[[int, float, list[str]], str]] = {"passages": passages, "indexes": indexes, "stdio": stdio}


def main() -> int:
    parser = argparse.ArgumentParser(description="Answer every program with hostile replies.")
    parser.add_argument("--replies", type=int, default=10_000, help="per adapter (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="(default: %(default)s)")
    parser.add_argument("--long", type=float, default=0.05, help="share of long replies (default: %(default)s)")
    parser.add_argument("--only", nargs="+", default=names(), metavar="PROGRAM", help="(default: all)")
    parser.add_argument("--adapter", nargs="+", default=list(ADAPTERS), choices=list(ADAPTERS), help="(default: all)")
    parser.add_argument("--pairs", action="store_true", help="have long replies alone, of all pairs of short patterns")
    parser.add_argument("--attack", nargs="+", choices=list(ATTACKS), help="attack what is no reply instead")
    parser.add_argument("--minutes", type=float, help="of each attack, or of each adapter (default: 1, or all replies)")
    args = parser.parse_args()
    for name in args.attack or []:
        done = ATTACKS[name](args.seed, time.monotonic() + 60 * (args.minutes or 1), args.only)
        print(f"{name}: {done}, all as promised", flush=True)
    if args.attack:
        return 0
    failed = False
    for adapter in args.adapter:
        pairs = ["".join(pair) for pair in combinations_with_replacement(PATTERNS, 2)] if args.pairs else []
        all_pairs = len(pairs)
        random.Random(args.seed).shuffle(pairs)
        count = fuzz(
            adapter,
            args.only,
            replies=0 if pairs else args.replies,
            seed=args.seed,
            long=1.0 if pairs else args.long,
            patterns=pairs,
            minutes=args.minutes or math.inf,
        )
        if all_pairs:
            print(f"{adapter}: {all_pairs - len(pairs):,} of {all_pairs:,} pairs")
        slow = [(seconds, reply) for seconds, reply in sorted(count.seconds, reverse=True) if seconds > SLOW]
        failed |= bool(count.escapes or slow)
        print(
            f"{adapter}: {count.replies:,} replies, {count.long:,} of {LONG:,} characters, to {count.questions:,} "
            f"questions of {len(args.only)} programs; {count.escapes.total()} escapes, "
            f"{count.unparsable / count.calls:.0%} unparsable, which ended {count.unread} questions; slowest "
            f"{max(count.seconds)[0]:.2f} s of CPU, {len(slow)} above {SLOW} s",
            flush=True,
        )
        for seconds, reply in slow[:20]:
            print(f"  {seconds:.2f} s: {reply}")
        for what, n in count.escapes.most_common(20):
            print(f"  escaped {n} times: {what}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
