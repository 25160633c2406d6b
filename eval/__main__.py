"""`odqa eval TASK --program NAME` asks a program the questions of a task; other subcommands use such runs."""

import inspect
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import programs
from odqa.console import Parser, with_values
from odqa.console import run as run_command
from programs.commands.flags import add_program

_PROG = "odqa eval"
_COMMANDS = (
    "run", "set", "table", "list", "view", "compare", "choose", "report", "rescore", "retrieval", "cost", "export",
    "mlflow", "tasks", "corpus", "paper",
)  # fmt: skip  # each is a file of `eval.commands`


def main(argv: Sequence[str]) -> NoReturn:
    """Run one subcommand and exit."""
    run_command("odqa choose" if argv[:1] == ["choose"] else _PROG, lambda: _main(argv))


def make_parser(argv: Sequence[str], names: Sequence[str] = _COMMANDS) -> Parser:
    """Make the parser of these subcommands, with the settings of the program that the command line names.

    Raises:
        UsageError: There is no such program.
    """
    parser = Parser(
        prog=_PROG,
        description="Ask programs the questions of a task, compare the runs and report them; judge retrievers.",
        epilog="COMMAND --help lists its flags. Without COMMAND it is run: odqa eval TASK --program NAME.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in names:
        module = import_module(f"eval.commands.{name}")
        about = inspect.getdoc(module) or ""
        command = commands.add_parser(
            name, prog=_command_of(name), allow_abbrev=False, help=about.split("\n")[0], description=about
        )
        module.add_flags(command)
        command.set_defaults(command=module.main)
    chooser = Parser(prog=_PROG, add_help=False, allow_abbrev=False)
    chooser.add_argument("--program")
    chosen = chooser.parse_known_args(argv)[0].program
    if chosen is not None and "run" in names:
        add_program(commands.choices["run"], chosen)
    return parser


def _command_of(name: str) -> str:
    """How the subcommand is called: that which has no other name is run, and choose needs no eval before it."""
    return {"run": _PROG, "choose": "odqa choose"}.get(name, f"{_PROG} {name}")


def all_words(words: Sequence[str]) -> Parser:
    """The parser of what may follow `odqa eval`, for completion: without a subcommand it takes the flags of run."""
    parser = Parser(_PROG, parents=[make_parser(words)], conflict_handler="resolve")
    import_module("eval.commands.run").add_flags(parser)
    with_values(parser, {"program": programs.names()})
    return parser


def _main(argv: Sequence[str]) -> None:
    helping = list(argv) in (["-h"], ["--help"])
    if not helping and not {*_COMMANDS} & {*argv[:1]}:
        argv = ["run", *argv]
    args = make_parser(argv, _COMMANDS if helping else argv[:1]).parse_args(argv)
    args.command(args)


if __name__ == "__main__":
    main(sys.argv[1:])
