"""`python -m eval TASK --program NAME` asks a program the questions of a task and prints what its answers are worth."""

import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import dspy
from tqdm import tqdm

import programs
from eval.metrics import STANDARD
from eval.report import table
from eval.run import evaluate, without_url_secrets
from eval.summary import Row
from eval.tasks import load
from programs import _cli
from retrieval import OdqaError

_PROG = "python -m eval"


def main(argv: Sequence[str]) -> None:
    chooser = _cli.Parser(prog=_PROG, add_help=False, allow_abbrev=False)
    chooser.add_argument("--program")
    name = chooser.parse_known_args(argv)[0].program
    program = None if name is None else programs.load(name)
    parser = _parser(program)
    args = parser.parse_args(argv)
    assert program is not None  # --program is required
    _evaluate(program, args)


def _parser(program: type[dspy.Module] | None) -> _cli.Parser:
    parser = _cli.Parser(
        prog=_PROG,
        allow_abbrev=False,
        description="Ask a program the questions of a task; one row per question goes to a directory, the figures are "
        "printed. A run that was cut short goes on where it stopped when it is started again with the same flags and "
        "--run with its directory.",
        epilog=None if program else "With --program NAME, --help lists the settings of this program too.",
    )
    parser.add_argument("task", metavar="TASK", help="sample, or file:QUESTIONS.jsonl[.gz]")
    parser.add_argument(
        "--program", required=True, metavar="NAME", help=f"the program to evaluate: {', '.join(programs.names())}"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="ask only the first N questions (default: all)")
    parser.add_argument(
        "--threads", type=int, default=8, metavar="N", help="questions in flight at once (default: %(default)s)"
    )
    parser.add_argument("--run", metavar="DIR", help="directory of the run (default: runs/TASK-PROGRAM-TIME)")
    _cli.add_environment(parser)
    if program:
        _cli.add_settings(parser, program)
    return parser


def _evaluate(program: type[dspy.Module], args: Namespace) -> None:
    examples = load(args.task, args.limit)
    module = _cli.make(program, args, _cli.load_retriever(args))
    lm = _cli.load_lm(args)
    directory = args.run or f"runs/{_task_name(args.task)}-{args.program}-{time.strftime('%Y%m%d-%H%M%S')}"
    _cli.say(f"run: {directory}")
    with dspy.context(lm=lm), tqdm(total=len(examples), unit="question", disable=None, file=sys.stderr) as bar:
        failed = 0

        def on_row(row: Row) -> None:
            nonlocal failed
            failed += row["error"] is not None
            bar.set_postfix(failed=failed, refresh=False)
            bar.update()

        try:
            summary = evaluate(
                module,
                examples,
                metrics=STANDARD,
                directory=directory,
                threads=args.threads,
                manifest=_manifest(program, args, lm),
                on_row=on_row,
                clean=_cli.without_secrets,
            )
        except KeyboardInterrupt:
            _cli.say(f"interrupted; with --run {directory} the same command goes on")
            raise
    if summary.total.failed == summary.total.n:
        raise OdqaError(f"all {summary.total.n} questions that were asked failed, the first with {summary.first_error}")
    print(table(summary))


def _manifest(program: type[dspy.Module], args: Namespace, lm: dspy.LM) -> dict[str, Any]:
    """Every flag that has a part in the answers."""
    settings = _cli.settings_of(program, args)
    flags = {name: value for name, value in vars(args).items() if name not in {"run", "threads", *settings}}
    if args.state:
        flags["state"] = {"file": args.state, "sha256": sha256(Path(args.state).read_bytes()).hexdigest()}
    for name in "api_base", "retriever":
        flags[name] = flags[name] and without_url_secrets(flags[name])
    return {**flags, "lm": lm.model, "settings": settings}


def _task_name(spec: str) -> str:
    return Path(spec.removeprefix("file:")).name.removesuffix(".gz").removesuffix(".jsonl")


if __name__ == "__main__":
    _cli.run(_PROG, lambda: main(sys.argv[1:]))
