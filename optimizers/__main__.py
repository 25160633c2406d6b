"""`odqa optimize PROGRAM --task TASK --recipe NAME --out STATE.json` compiles a program into a state file."""

import argparse
import contextlib
import functools
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import dspy
import tqdm

import programs
from eval import metrics, tasks
from eval.commands.options import add_data, add_judge_api_base, add_lm_calls, add_workers, workers_of
from eval.figures.comparison import compare
from eval.metrics import Metric
from eval.reports.text import comparison_table
from eval.runs.asking import how_asked
from eval.runs.store import read
from lms.extractive import READER
from odqa.console import Parser, bar_size, output, run, say, with_values
from odqa.heaps import give_back_memory
from odqa.limits import Limiter, Limits
from odqa.secrets import public
from optimizers import check, filter_f1, load, names, needs_a_writer, why_no_state
from optimizers.changes import changes
from optimizers.optimize import optimize
from optimizers.split import split
from programs.commands.flags import (
    adapter_of,
    add_environment,
    add_settings,
    load_lm,
    load_retriever,
    make,
    settings_of,
)
from retrieval import UsageError

_PROG = "odqa optimize"


def main(argv: Sequence[str]) -> NoReturn:
    """Compile a program and exit."""
    args = make_parser(argv).parse_args(argv)
    give_back_memory()

    def command() -> None:
        with dspy.context(adapter=adapter_of(args)):
            _compile(args)

    run(_PROG, command)


def all_words(words: Sequence[str]) -> Parser:
    """The parser of what may follow `odqa optimize`, for completion."""
    parser = make_parser(words)
    with_values(parser, {"program": programs.names(), "recipe": names()})
    return parser


def make_parser(argv: Sequence[str]) -> Parser:
    """Make the parser, with the settings of the program and of the recipe that the command line names."""
    parser = Parser(
        prog=_PROG,
        allow_abbrev=False,
        description="Compile a program's prompts for a task, and write them to a JSON state file. To continue what was "
        "cut short, repeat the command with --run and its directory.",
        epilog="With PROGRAM and --recipe, --help also lists their settings.",
    )
    _add_flags(parser)
    chooser = Parser(prog=_PROG, add_help=False, allow_abbrev=False)
    chooser.add_argument("--recipe")
    program = next((word for word in argv if word in programs.names()), None)
    recipe = chooser.parse_known_args(argv)[0].recipe
    if program:
        add_settings(parser, programs.load(program))
    if recipe in names():
        add_settings(parser, load(recipe))
    return parser


def _add_flags(parser: Parser) -> None:
    """Add all but the settings of a program and of a recipe."""
    parser.add_argument("program", metavar="PROGRAM", help=f"one of {', '.join(programs.names())}")
    parser.add_argument(
        "--task", required=True, metavar="TASK", help="sample, QUESTIONS.jsonl[.gz] or .csv, or a task of odqa eval"
    )
    add_data(parser)
    parser.add_argument("--recipe", required=True, metavar="NAME", help=f"one of {', '.join(names())}")
    parser.add_argument("--out", type=Path, metavar="STATE.json", help="state file to write (default: none)")
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help=f"what the recipe improves: filter_f1, {metrics.HELP} (default: em, or accuracy if all questions are "
        "answered by yes or no)",
    )
    add_judge_api_base(parser)
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help="change these predictors, or the predictors in these modules, and no others",
    )
    parser.add_argument(
        "--freeze",
        nargs="+",
        default=[],
        metavar="NAME",
        help="do not change these predictors, or the predictors in these modules",
    )
    parser.add_argument(
        "--train", type=int, default=40, metavar="N", help="learn from N questions (default: %(default)s)"
    )
    parser.add_argument(
        "--dev", type=int, default=100, metavar="N", help="hold out at most N questions (default: %(default)s)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed for choosing these questions and for the recipe (default: %(default)s)",
    )
    add_workers(parser)
    add_lm_calls(parser)
    parser.add_argument(
        "--budget-calls", type=int, metavar="N", help="stop compiling after N LM calls (default: no limit)"
    )
    parser.add_argument(
        "--budget-usd", type=float, metavar="USD", help="stop compiling after USD dollars (default: no limit)"
    )
    parser.add_argument(
        "--run",
        type=Path,
        metavar="DIR",
        help="directory for evaluations and LM calls (default: runs/optimize-PROGRAM-RECIPE-TIME)",
    )
    add_environment(parser)


def _compile(args: argparse.Namespace) -> None:
    program_class, recipe = programs.load(args.program), load(args.recipe)
    if args.out and (reason := why_no_state(args.recipe)):
        raise UsageError(f"{args.recipe} makes no state file: {reason}; leave out --out to see its scores")
    if args.out and args.out.suffix != ".json":
        raise UsageError(f"a state file is JSON: its name must end in .json, and {args.out} does not")
    train, held_out = split(tasks.load(args.task, data=args.data), train=args.train, held_out=args.dev, seed=args.seed)
    settings = settings_of(recipe, args)
    check(args.recipe, train, **settings)
    retriever = load_retriever(args)
    program = make(program_class, args, retriever)
    directory = args.run or Path("runs") / f"optimize-{args.program}-{args.recipe}-{time.strftime('%Y%m%d-%H%M%S')}"
    lm = load_lm(args)
    if lm.model == READER:
        _check_reader(args.recipe)
    manifest: dict[str, Any] = {
        "program": args.program,
        "settings": settings_of(program_class, args),
        "recipe": args.recipe,
        "recipe_settings": settings,
        "task": args.task,
        **asdict(how_asked(lm)),
        "cache": args.cache,
        "retriever": public(args.retriever),
        "from_state": args.state and sha256(Path(args.state).read_bytes()).hexdigest(),
    }
    metric = _metric(args, train)
    say(f"{args.program} by {args.recipe}: {len(train)} questions to learn from, {len(held_out)} held out; {directory}")
    with dspy.context(lm=lm), _quiet(), _interruptible(directory):
        outcome = optimize(
            program,
            functools.partial(recipe, **settings),
            train=train,
            held_out=held_out,
            metric=metric,
            out=args.out,
            directory=directory,
            seed=args.seed,
            threads=args.threads,
            lm_calls=args.lm_calls,
            workers=workers_of(args),
            only=args.only,
            freeze=args.freeze,
            limiter=Limiter(Limits(calls=args.budget_calls, usd=args.budget_usd)),
            cache=args.cache,
            manifest=manifest,
        )
    report = changes(program, outcome.program, outcome.parts)
    judged = compare([read(directory / name) for name in ("after", "before")], [metric.__name__])
    output(f"{comparison_table(judged)}\n\n{report}\n")
    if outcome.failures:
        output(f"{outcome.failures}; they count as wrong answers")
    repeats = outcome.cost.lm_calls - outcome.paid_calls
    again = f" ({repeats} more were asked again and answered from the record)" if repeats else ""
    output(f"compiled with {outcome.paid_calls} LM calls{again}" + (f"; wrote {args.out}" if args.out else ""))


def _check_reader(recipe: str) -> None:
    """Say what comes of this recipe with the extractive reader.

    Raises:
        UsageError: nothing does.
    """
    if needs := needs_a_writer(recipe):
        raise UsageError(
            f"{recipe} {needs}, and the extractive reader is no language model: choose one with --lm, such as "
            "gguf:FILE, ollama_chat/NAME or openai/NAME"
        )
    say("the extractive reader heeds no demonstrations, so its answers will stay as they are: --lm chooses an LM")


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
        say(f"interrupted; to continue, repeat the command with --run {directory}: nothing is paid twice")
        raise


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Send what DSPy's optimizers print to stderr, and show their progress bars on terminals only."""
    original = tqdm.tqdm.__init__

    def on_terminals(bar: Any, *args: Any, **settings: Any) -> None:
        original(bar, *args, **{**bar_size(), **settings, "disable": settings.get("disable") or None})

    tqdm.tqdm.__init__ = on_terminals
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        tqdm.tqdm.__init__ = original


if __name__ == "__main__":
    main(sys.argv[1:])
