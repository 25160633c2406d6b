"""`python -m optimizers PROGRAM --task TASK --recipe NAME --out STATE.json` compiles a program into a state file."""

import argparse
import contextlib
import functools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dspy
import tqdm

import programs
from eval import metrics, tasks
from eval.metrics import Metric
from eval.report import table
from optimizers import load, names
from optimizers._demonstrations import labelled
from optimizers._optimize import optimize
from optimizers._split import split
from programs._cli import Parser, add_environment, add_settings, load_lm, load_retriever, make, run, say, settings_of
from retrieval import UsageError

PROG = "python -m optimizers"
METRICS: dict[str, Metric] = {"em": metrics.em, "f1": metrics.f1}


def main() -> None:
    parser = Parser(prog=PROG, description="Compile a program's prompts against a task; JSON state files only.")
    parser.add_argument("program", help=f"one of {', '.join(programs.names())}")
    parser.add_argument("--task", required=True, metavar="TASK", help="sample, or file:QUESTIONS.jsonl[.gz]")
    parser.add_argument("--recipe", required=True, metavar="NAME", help=f"one of {', '.join(names())}")
    parser.add_argument("--out", required=True, type=Path, metavar="STATE.json", help="the state file to write")
    parser.add_argument(
        "--metric", choices=METRICS, default="em", help="what the recipe goes by (default: %(default)s)"
    )
    parser.add_argument(
        "--train", type=int, default=40, metavar="N", help="questions to learn from (default: %(default)s)"
    )
    parser.add_argument(
        "--dev", type=int, default=100, metavar="N", help="questions held out, at most (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the division into the two (default: %(default)s)")
    parser.add_argument(
        "--threads", type=int, default=8, metavar="N", help="questions in flight (default: %(default)s)"
    )
    parser.add_argument("--run", type=Path, metavar="DIR", help="where the two evaluations go (default: under runs/)")
    add_environment(parser)
    # The settings of the program belong to the command line once the program is known.
    chosen = next((name for name in sys.argv[1:] if name in programs.names()), None)
    if chosen:
        add_settings(parser, programs.load(chosen))
    args = parser.parse_args()
    run(PROG, lambda: _compile(args))


def _compile(args: argparse.Namespace) -> None:
    program_class, recipe = programs.load(args.program), load(args.recipe)
    if args.out.suffix != ".json":
        raise UsageError(f"a state file is JSON and its name ends in .json, unlike {args.out}")
    train, held_out = split(tasks.load(args.task), train=args.train, held_out=args.dev, seed=args.seed)
    retriever = load_retriever(args)
    program = make(program_class, args, retriever)
    directory = args.run or Path("runs") / f"optimize-{args.program}-{args.recipe}-{time.strftime('%Y%m%d-%H%M%S')}"
    lm = load_lm(args)
    manifest: dict[str, Any] = {
        "settings": settings_of(program_class, args),
        "recipe": args.recipe,
        "task": args.task,
        "seed": args.seed,
        "lm": lm.model,
        "retriever": args.retriever,
        "from_state": args.state,
    }
    say(f"{args.program} by {args.recipe}: {len(train)} questions to learn from, {len(held_out)} held out; {directory}")
    with dspy.context(lm=lm), _quiet():
        outcome = optimize(
            program,
            recipe,
            train=train if retriever is None else labelled(train, retriever),
            held_out=held_out,
            metric=METRICS[args.metric],
            out=args.out,
            directory=directory,
            threads=args.threads,
            manifest=manifest,
        )
    print(f"before\n{table(outcome.before)}\n\nafter\n{table(outcome.after)}\n")
    for name, predictor in outcome.program.named_predictors():
        print(f"{name}: {len(predictor.demos)} demonstrations")
    print(f"compiled with {outcome.cost.lm_calls} LM calls; wrote {args.out}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """DSPy's optimizers print to stdout and draw bars everywhere: send talk to stderr, and bars to terminals alone."""
    original = tqdm.tqdm.__init__
    tqdm.tqdm.__init__ = functools.partialmethod(original, disable=None)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        tqdm.tqdm.__init__ = original


if __name__ == "__main__":
    main()
