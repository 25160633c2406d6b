"""`python -m optimizers PROGRAM --task TASK --recipe NAME --out STATE.json` compiles a program into a state file."""

import argparse
import contextlib
import ctypes
import functools
import os
import sys
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import dspy
import tqdm

import programs
from eval import metrics, tasks
from eval.metrics import Metric
from eval.reports.text import table
from eval.runs.recorded_calls import Limits
from eval.runs.runner import without_url_secrets
from optimizers import check, filter_f1, load, names, why_no_state
from optimizers.changes import changes
from optimizers.optimize import optimize
from optimizers.split import split
from programs.commands.method import (
    Parser,
    add_environment,
    add_settings,
    load_lm,
    load_retriever,
    make,
    run,
    say,
    settings_of,
    without_secrets,
)
from retrieval import UsageError

PROG = "python -m optimizers"
_MALLOC = {-3: 1 << 20, -8: 2}  # by their numbers in malloc.h: M_MMAP_THRESHOLD, bytes; M_ARENA_MAX


def main(argv: Sequence[str]) -> NoReturn:
    args = make_parser(argv).parse_args(argv)
    give_back_memory()
    run(PROG, lambda: _compile(args))


def give_back_memory() -> None:
    """Have the C library give what a search takes back to the system at once, where it is one that can be told (glibc).

    Otherwise the heap of every thread keeps arrays of the length of the corpus for the next search that it makes, and
    there are many heaps.
    """
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if mallopt := getattr(library, "mallopt", None):
        for setting, value in _MALLOC.items():
            mallopt(setting, value)


def make_parser(argv: Sequence[str]) -> Parser:
    """The parser for this command line, with the settings of the program and of the recipe that it names."""
    parser = Parser(
        prog=PROG,
        allow_abbrev=False,
        description="Compile a program's prompts against a task; JSON state files only. Compiling that was cut short "
        "goes on where it stopped when it is started again with the same flags and --run with its directory.",
    )
    parser.add_argument("program", help=f"one of {', '.join(programs.names())}")
    parser.add_argument(
        "--task", required=True, metavar="TASK", help="sample, file:QUESTIONS.jsonl[.gz], or a data set of eval's"
    )
    parser.add_argument(
        "--data",
        default=os.environ.get("ODQA_DATA") or None,
        metavar="DIR",
        help="directory with local copies of data sets, as in python -m eval (default: ODQA_DATA)",
    )
    parser.add_argument("--recipe", required=True, metavar="NAME", help=f"one of {', '.join(names())}")
    parser.add_argument("--out", type=Path, metavar="STATE.json", help="the state file to write; without it, none")
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help=f"what the recipe goes by: filter_f1, {metrics.HELP} (default: em; accuracy where all questions are "
        "answered by yes or no)",
    )
    parser.add_argument(
        "--judge-api-base", metavar="URL", help="address of an OpenAI-compatible server for the LM of acc_judge"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="predictors, or modules with some, that are to learn"
    )
    parser.add_argument(
        "--freeze",
        nargs="+",
        default=[],
        metavar="NAME",
        help="predictors, or modules with some, that stay as they are",
    )
    parser.add_argument(
        "--train", type=int, default=40, metavar="N", help="questions to learn from (default: %(default)s)"
    )
    parser.add_argument(
        "--dev", type=int, default=100, metavar="N", help="questions held out, at most (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the division into the two, and of the recipe (default: %(default)s)"
    )
    parser.add_argument(
        "--threads", type=int, default=8, metavar="N", help="questions in flight (default: %(default)s)"
    )
    parser.add_argument(
        "--budget-calls", type=int, metavar="N", help="stop compiling after so many LM calls (default: no limit)"
    )
    parser.add_argument(
        "--budget-usd", type=float, metavar="X", help="stop compiling after so many US dollars (default: no limit)"
    )
    parser.add_argument("--run", type=Path, metavar="DIR", help="where evaluations and LM calls go (default: in runs/)")
    add_environment(parser)
    chooser = Parser(prog=PROG, add_help=False, allow_abbrev=False)
    chooser.add_argument("--recipe")
    program = next((word for word in argv if word in programs.names()), None)
    recipe = chooser.parse_known_args(argv)[0].recipe
    if program:
        add_settings(parser, programs.load(program))
    if recipe in names():
        add_settings(parser, load(recipe))
    return parser


def _compile(args: argparse.Namespace) -> None:
    program_class, recipe = programs.load(args.program), load(args.recipe)
    if args.out and (reason := why_no_state(args.recipe)):
        raise UsageError(f"{args.recipe} makes no state file: {reason}; leave --out away to see what it is worth")
    if args.out and args.out.suffix != ".json":
        raise UsageError(f"a state file is JSON and its name ends in .json, unlike {args.out}")
    train, held_out = split(tasks.load(args.task, data=args.data), train=args.train, held_out=args.dev, seed=args.seed)
    settings = settings_of(recipe, args)
    check(args.recipe, train, **settings)
    retriever = load_retriever(args)
    program = make(program_class, args, retriever)
    directory = args.run or Path("runs") / f"optimize-{args.program}-{args.recipe}-{time.strftime('%Y%m%d-%H%M%S')}"
    lm = load_lm(args)
    manifest: dict[str, Any] = {
        "settings": settings_of(program_class, args),
        "recipe": args.recipe,
        "recipe_settings": settings,
        "task": args.task,
        "lm": lm.model,
        "temperature": args.temperature,
        "retriever": args.retriever and without_url_secrets(args.retriever),
        "from_state": args.state and sha256(Path(args.state).read_bytes()).hexdigest(),
    }
    say(f"{args.program} by {args.recipe}: {len(train)} questions to learn from, {len(held_out)} held out; {directory}")
    with dspy.context(lm=lm), _quiet(), _interruptible(directory):
        outcome = optimize(
            program,
            functools.partial(recipe, **settings),
            train=train,
            held_out=held_out,
            metric=_metric(args, train),
            out=args.out,
            directory=directory,
            seed=args.seed,
            threads=args.threads,
            only=args.only,
            freeze=args.freeze,
            limits=Limits(calls=args.budget_calls, usd=args.budget_usd),
            manifest=manifest,
            clean=without_secrets,
        )
    report = changes(program, outcome.program, outcome.parts)
    print(f"before\n{table(outcome.before)}\n\nafter\n{table(outcome.after)}\n\n{report}\n")
    if outcome.failures:
        print(f"{outcome.failures}; they counted as wrong answers")
    print(f"compiled with {outcome.cost.lm_calls} LM calls" + (f"; wrote {args.out}" if args.out else ""))


def _metric(args: argparse.Namespace, train: Sequence[dspy.Example]) -> Metric:
    if args.metric == "filter_f1":
        return filter_f1
    if args.metric is None:
        return metrics.standard(train)[0]
    return metrics.load(args.metric, judge_api_base=args.judge_api_base)


@contextlib.contextmanager
def _interruptible(directory: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted; with --run {directory} the same command goes on, and pays nothing twice")
        raise


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """DSPy's optimizers print to stdout and draw bars everywhere: send talk to stderr, and bars to terminals alone."""
    original = tqdm.tqdm.__init__

    def on_terminals(bar: Any, *args: Any, **settings: Any) -> None:
        original(bar, *args, **{**settings, "disable": settings.get("disable") or None})

    tqdm.tqdm.__init__ = on_terminals
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        tqdm.tqdm.__init__ = original


if __name__ == "__main__":
    main(sys.argv[1:])
