"""`odqa ask NAME QUESTION` answers a question with one method, or says what questions will cost."""

import argparse
import inspect
import json
import logging
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import NoReturn

import dspy

import lms
from odqa.bridge import price, watching
from odqa.console import Parser, output, run, say, status
from odqa.interrupts import ending_at_once
from programs.commands.flags import (
    adapter_of,
    add_environment,
    add_settings,
    load_lm,
    load_retriever,
    make,
    set_answerer,
)
from programs.instruments.answerer import Answerer
from programs.instruments.cost import Cost, PredictorNames, measured
from programs.instruments.live import Live, Step
from programs.instruments.plan import QUESTIONS, plan, promise
from programs.instruments.words import Words, no_answer, spent
from retrieval import Passage, UsageError

__all__ = ["NEXT", "main", "make_parser"]

NEXT = """\
This was the extractive reader, not a language model: it copies what the passages say, or declines.
To ask one: export OPENAI_API_KEY=…, or start Ollama, or --lm gguf:FILE (see docs/local_models.md)."""
"""What to do next, in two lines, where the extractive reader was asked."""


_LONGEST = 3  # lines of a query, of those that a method writes


def main(
    program: type[dspy.Module],
    argv: Sequence[str] | None = None,
    *,
    because: str = "",
    answerer: Answerer | None = None,
) -> NoReturn:
    """Run the command line of one method and exit.

    Args:
        program: The method.
        argv: Its words; by default those of the process.
        because: What to say of the method first, where it was not named.
        answerer: What the flags default to.
    """
    parser = make_parser(program, answerer)
    args = parser.parse_args(argv)
    if args.question is None and not args.plan:
        parser.error("the following arguments are required: question")

    def command() -> None:
        if because and not args.quiet:
            say(because)
        if args.question == "-":
            args.question = sys.stdin.read()
        with ending_at_once(), dspy.context(adapter=adapter_of(args)):
            (_plan if args.plan else _answer)(program, args)

    run(parser.prog, command)


def make_parser(program: type[dspy.Module], answerer: Answerer | None = None) -> Parser:
    """Make the parser, with the settings of the program; its flags default to what the answerer says."""
    name = program.__module__ if program.__module__ != "__main__" else _module_name()
    parser = Parser(prog=f"odqa ask {name.removeprefix('programs.')}", description=_first_paragraph(program))
    parser.add_argument("question", nargs="?", help="the question to answer, or - to read it from stdin")
    parser.add_argument(
        "--trace", action="store_true", help="print one JSON object: all fields of the result, and what it cost"
    )
    parser.add_argument("--quiet", action="store_true", help="print the answer and nothing else, on stderr neither")
    parser.add_argument(
        "--plan",
        action="store_true",
        help="ask no LM; print how many LM calls a question takes and what it costs, counted with stand-ins for the LM "
        "on the question, or on a few examples if there is none",
    )
    parser.add_argument(
        "--questions", type=int, default=100, metavar="N", help="with --plan: price N questions (default: %(default)s)"
    )
    add_environment(parser)
    add_settings(parser, program, answerer.settings if answerer else None)
    if answerer:
        set_answerer(parser, answerer)
    return parser


def _answer(program: type[dspy.Module], args: argparse.Namespace) -> None:
    if not args.question.strip():
        raise UsageError("the question is empty")
    if args.quiet:
        logging.getLogger("lms").setLevel(logging.ERROR)  # which says what "auto" took
    retriever = load_retriever(args, quiet=args.quiet)
    made, lm = make(program, args, retriever), load_lm(args)
    with (
        dspy.context(lm=lm.copy(cache=args.cache)),
        _steps(shown=sys.stderr.isatty() and not args.quiet),
        measured() as cost,
    ):
        prediction = made(question=args.question)
    if args.trace:
        record = {"question": args.question, **prediction.toDict(), "cost": asdict(cost)}
        output(json.dumps(record, ensure_ascii=False))
        return
    watched = sys.stdout.isatty() and not args.quiet
    if prediction.answer or not watched:
        output(str(prediction.answer), flush=True)
    if args.quiet:
        return
    if not prediction.answer:
        say(no_answer(args.question, retriever, args.retriever, cost))
    if watched:
        output(f"\n{_way(prediction, cost)}\n", flush=True)
    if lm.model.startswith("extractive/"):
        say(NEXT)


def _plan(program: type[dspy.Module], args: argparse.Namespace) -> None:
    if args.questions < 1:
        raise UsageError(f"--questions must be at least 1, not {args.questions}")
    lm = load_lm(args)
    made = make(program, args, load_retriever(args))
    amounts = plan(made, lms.load("extractive"), [args.question] if args.question else QUESTIONS)
    output(f"{'per question':20}{'least':>10}{'typical':>10}{'most':>10}")
    for name, amount in amounts.items():
        label = name.replace("lm_calls", "LM calls").replace("_", " ")
        output(f"{label:20}{amount.least:>10,.0f}{amount.typical:>10,.0f}{amount.most:>10,.0f}")
    tokens = amounts["input_tokens"], amounts["output_tokens"]
    dollars = [price(lm, *(getattr(amount, bound) for amount in tokens)) for bound in ("least", "typical", "most")]
    output(f"\n{args.questions:,} questions with {lm.model}:", end=" ")
    if None in dollars:
        output("the price is unknown")
    else:
        output(", ".join(f"${args.questions * usd:,.2f}" for usd in dollars if usd is not None))
    output(f"\nPromised: {promise(program)}")
    say(
        "Counted with stand-ins for the LM: a reader that copies from the passages (typical), and one that replies "
        "nothing. A token is taken as 4 characters. An LM's replies are longer than the reader's, above all when it "
        "reasons."
    )


def _way(prediction: dspy.Prediction, cost: Cost) -> str:
    """The way to an answer, from the fields that all methods share: queries, passages kept and dropped, cost."""
    kept = {passage.id for passage in prediction.evidence}
    lines = [_entry("query", query) for query in prediction.queries]
    lines += [_entry("kept" if passage.id in kept else "dropped", _name(passage)) for passage in prediction.passages]
    found = {passage.id for passage in prediction.passages}
    lines += [_entry("written", passage.text) for passage in prediction.evidence if passage.id not in found]
    return "\n".join([*lines, _entry("cost", spent(cost))])


def _name(passage: Passage) -> str:
    return passage.title or passage.text


def _entry(label: str, text: str) -> str:
    """A line with a label in front; long texts are wrapped under each other and cut."""
    width = max(40, shutil.get_terminal_size().columns)
    first, rest = f"  {label:9}", " " * 11
    form = textwrap.TextWrapper(width, first, rest, max_lines=_LONGEST, placeholder=" …")
    return form.fill(" ".join(text.split()))


@contextmanager
def _steps(*, shown: bool) -> Iterator[None]:
    """Show on one line of a terminal what happens, in words; the line goes when the block ends."""
    if not shown:
        yield
        return
    words, began = Words(), time.perf_counter()

    def tell(step: Step) -> None:
        status(f"{time.perf_counter() - began:.0f} s  {words(step).rstrip()}")

    try:
        with watching(Live(tell, PredictorNames())):
            yield
    finally:
        status("")


def _first_paragraph(program: type[dspy.Module]) -> str:
    return inspect.getdoc(program).split("\n\n")[0]  # type: ignore[union-attr]


def _module_name() -> str:
    """The name given to `python -m`, which runs the module as __main__."""
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec else ""
