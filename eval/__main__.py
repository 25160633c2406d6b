"""`python -m eval TASK --program NAME` asks a program the questions of a task; other subcommands use such runs."""

import sys
from collections.abc import Sequence
from typing import NoReturn

from eval.commands import compare, corpus, cost, export, mlflow, paper, report, retrieval, run, tasks
from retrieval.command_line import Parser
from retrieval.command_line import run as run_and_exit

_PROG = "python -m eval"
_OTHERS = (compare, report, retrieval, cost, export, mlflow, tasks, corpus, paper)
_NAMES = {command.__name__.rpartition(".")[2] for command in (run, *_OTHERS)}  # a command is named as its file


def main(argv: Sequence[str]) -> NoReturn:
    """Run one subcommand and exit."""
    run_and_exit(_PROG, lambda: _main(argv))


def make_parser(argv: Sequence[str]) -> Parser:
    """Make the parser, with the settings of the program that the command line names.

    Raises:
        UsageError: There is no such program.
    """
    parser = Parser(
        prog=_PROG,
        description="Ask programs the questions of a task, compare the runs and report them; judge retrievers.",
        epilog="COMMAND --help lists its flags. Without COMMAND, TASK --program NAME is the same as run, and --program "
        "NAME --help also lists the settings of that program.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    run.add(commands, argv)
    for other in _OTHERS:
        other.add(commands)
    return parser


def _main(argv: Sequence[str]) -> None:
    if list(argv) not in (["-h"], ["--help"]) and not _NAMES.intersection(argv[:1]):
        argv = ["run", *argv]
    args = make_parser(argv).parse_args(argv)
    args.command(args)


if __name__ == "__main__":
    main(sys.argv[1:])
